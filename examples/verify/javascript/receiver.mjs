// A receiver of webhooks that verifies what it gets.
//
//     npm install
//     WEBHOOK_SECRET=whsec_... PORT=8080 node receiver.mjs

import { createServer } from "node:http";
import { Webhook } from "standardwebhooks";

const BODY_BYTES_MAX = 32 * 1024 * 1024;

const webhook = new Webhook(process.env.WEBHOOK_SECRET);

async function receive(request) {
  const chunks = [];
  let bytes = 0;
  for await (const chunk of request) {
    bytes += chunk.length;
    if (bytes > BODY_BYTES_MAX) return 413;
    chunks.push(chunk);
  }
  const body = Buffer.concat(chunks); // verify these bytes, not JSON that was read and written again
  let event;
  try {
    event = webhook.verify(body, request.headers);
  } catch {
    return 401;
  }
  // The same event can come twice: do nothing for an id that you have seen.
  console.log(request.headers["webhook-id"], event.type);
  return 204;
}

const server = createServer((request, response) => {
  receive(request).then(
    (status) => response.writeHead(status).end(),
    () => response.destroy(), // the sender went away
  );
});
server.listen(Number(process.env.PORT ?? 8080), "127.0.0.1", () => {
  console.log(`listening on http://127.0.0.1:${server.address().port}/`);
});

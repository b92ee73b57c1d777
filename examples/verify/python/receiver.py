"""A receiver of webhooks that verifies what it gets.

    pip install -r requirements.txt
    WEBHOOK_SECRET=whsec_... PORT=8080 python3 receiver.py
"""

import os
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from standardwebhooks.webhooks import Webhook, WebhookVerificationError

BODY_BYTES_MAX = 32 * 1024 * 1024

webhook = Webhook(os.environ["WEBHOOK_SECRET"])


class Receiver(BaseHTTPRequestHandler):
    def do_POST(self):
        length = int(self.headers.get("Content-Length", 0))
        if length > BODY_BYTES_MAX:
            return self.answer(413)
        body = self.rfile.read(length)  # verify these bytes, not JSON that was read and written again
        try:
            event = webhook.verify(body, dict(self.headers))
        except (WebhookVerificationError, ValueError):  # ValueError: a header or a body that cannot be read at all
            return self.answer(401)
        # The same event can come twice: do nothing for an id that you have seen.
        print(self.headers["webhook-id"], event["type"], flush=True)
        self.answer(204)

    def answer(self, status):
        self.send_response(status)
        self.send_header("Content-Length", "0")
        self.end_headers()


if __name__ == "__main__":
    server = ThreadingHTTPServer(("127.0.0.1", int(os.environ.get("PORT", 8080))), Receiver)
    print(f"listening on http://127.0.0.1:{server.server_port}/", flush=True)
    server.serve_forever()

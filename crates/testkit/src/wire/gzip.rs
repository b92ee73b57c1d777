//! Gzip that compresses nothing: what reads it cannot tell.

/// A header, stored blocks, checksum and length.
pub(super) fn gzip_stored(body: &[u8]) -> Vec<u8> {
    const BLOCK_BYTES_MAX: usize = 0xffff;
    let mut out = vec![0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 0xff];
    for block in body.chunks(BLOCK_BYTES_MAX) {
        let length = u16::try_from(block.len()).unwrap_or(u16::MAX);
        out.push(0);
        out.extend(length.to_le_bytes());
        out.extend((!length).to_le_bytes());
        out.extend(block);
    }
    out.extend([1, 0, 0, 0xff, 0xff]);
    out.extend(crc32(body).to_le_bytes());
    out.extend(u32::try_from(body.len()).unwrap_or(u32::MAX).to_le_bytes());
    out
}

fn crc32(bytes: &[u8]) -> u32 {
    !bytes.iter().fold(u32::MAX, |crc, byte| {
        (0..8).fold(crc ^ u32::from(*byte), |crc, _| if crc & 1 == 1 { crc >> 1 ^ 0xedb8_8320 } else { crc >> 1 })
    })
}

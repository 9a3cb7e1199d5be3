export interface ImageSize {
  readonly width: number;
  readonly height: number;
}

/**
 * Width and height from the first bytes of a PNG, JPEG, GIF or WebP file. `undefined`: another
 * format, or too few bytes. The bytes are hostile: nothing is read behind their end, and every step
 * advances.
 */
export function imageSize(bytes: Buffer): ImageSize | undefined {
  if (bytes.length >= 24 && bytes.readUInt32BE(0) === 0x89504e47 && bytes.readUInt32BE(4) === 0x0d0a1a0a) {
    return plausible(bytes.readUInt32BE(16), bytes.readUInt32BE(20));
  }
  if (bytes.length >= 10 && /^GIF8[79]a$/.test(bytes.toString('latin1', 0, 6))) {
    return plausible(bytes.readUInt16LE(6), bytes.readUInt16LE(8));
  }
  if (bytes.length >= 30 && bytes.toString('latin1', 0, 4) === 'RIFF' && bytes.toString('latin1', 8, 12) === 'WEBP')
    return webpSize(bytes);
  if (isJpeg(bytes)) return jpegSize(bytes);
  return undefined;
}

/** A JPEG's size comes after its metadata, so more of the file has to be read. */
export function isJpeg(bytes: Buffer): boolean {
  return bytes.length >= 3 && bytes.readUIntBE(0, 3) === 0xffd8ff;
}

function webpSize(bytes: Buffer): ImageSize | undefined {
  switch (bytes.toString('latin1', 12, 16)) {
    case 'VP8 ':
      return plausible(bytes.readUInt16LE(26) & 0x3fff, bytes.readUInt16LE(28) & 0x3fff);
    case 'VP8L': {
      const packed = bytes.readUInt32LE(21);
      return plausible((packed & 0x3fff) + 1, ((packed >>> 14) & 0x3fff) + 1);
    }
    case 'VP8X':
      return plausible(bytes.readUIntLE(24, 3) + 1, bytes.readUIntLE(27, 3) + 1);
    default:
      return undefined;
  }
}

/**
 * Segments follow each other with their lengths; the frame header (SOF) among them has the size.
 */
function jpegSize(bytes: Buffer): ImageSize | undefined {
  let pos = 2;
  while (pos + 9 <= bytes.length) {
    if (bytes[pos] !== 0xff) return undefined;
    const marker = bytes[pos + 1] ?? 0;
    if (marker === 0xff) {
      pos++;
      continue;
    }
    const isFrame = marker >= 0xc0 && marker <= 0xcf && marker !== 0xc4 && marker !== 0xc8 && marker !== 0xcc;
    if (isFrame) return plausible(bytes.readUInt16BE(pos + 7), bytes.readUInt16BE(pos + 5));
    const length = bytes.readUInt16BE(pos + 2);
    if (length < 2) return undefined;
    pos += 2 + length;
  }
  return undefined;
}

function plausible(width: number, height: number): ImageSize | undefined {
  return width > 0 && height > 0 ? { width, height } : undefined;
}

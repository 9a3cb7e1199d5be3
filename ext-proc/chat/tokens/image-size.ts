export interface ImageSize {
  readonly width: number;
  readonly height: number;
}

/**
 * Width and height from the first bytes of a PNG, JPEG, GIF or WebP file. `undefined`: another
 * format, too few bytes, or a file that decoders read in different ways, since whoever sends it
 * chooses the one that makes it cheaper. The bytes are hostile: nothing is read behind their end,
 * and every step advances.
 */
export function imageSize(bytes: Buffer): ImageSize | undefined {
  // No picture is shorter.
  if (bytes.length < 24) return undefined;
  if (bytes.readUInt32BE(0) === 0x89504e47 && bytes.readUInt32BE(4) === 0x0d0a1a0a) return pngSize(bytes);
  if (/^GIF8[79]a$/.test(bytes.toString('latin1', 0, 6))) return gifSize(bytes);
  if (bytes.toString('latin1', 0, 4) === 'RIFF' && bytes.toString('latin1', 8, 12) === 'WEBP') return webpSize(bytes);
  if (bytes.readUIntBE(0, 3) === 0xffd8ff) return jpegSize(bytes);
  return undefined;
}

const PNG_HEADER = 0x49484452;
const PNG_DATA = 0x49444154;

/** Some decoders take the header from any place before the data, and the last one of two. */
function pngSize(bytes: Buffer): ImageSize | undefined {
  if (bytes.readUInt32BE(8) !== 13 || bytes.readUInt32BE(12) !== PNG_HEADER) return undefined;
  for (let pos = 33; pos + 8 <= bytes.length; pos += 12 + bytes.readUInt32BE(pos)) {
    const type = bytes.readUInt32BE(pos + 4);
    if (type === PNG_DATA) return plausible(bytes.readUInt32BE(16), bytes.readUInt32BE(20));
    if (type === PNG_HEADER) return undefined;
  }
  return undefined;
}

/** Some decoders enlarge the screen to the first frame, which stands behind the extensions. */
function gifSize(bytes: Buffer): ImageSize | undefined {
  const flags = bytes.readUInt8(10);
  let pos = flags < 0x80 ? 13 : 13 + 6 * 2 ** (flags & 7);
  while (pos + 9 <= bytes.length && bytes[pos] === 0x21) {
    const [label, length] = [bytes[pos + 1] ?? 0, bytes[pos + 2] ?? 0];
    // Decoders disagree where other extensions end, and extensions without data.
    if (![0xf9, 0xfe, 0xff].includes(label) || length === 0 || (label === 0xf9 && length !== 4)) return undefined;
    if (label === 0xff && bytes[pos + 3 + length] === 0) return undefined;
    for (pos += 2; (bytes[pos] ?? 0) > 0; ) pos += 1 + (bytes[pos] ?? 0);
    pos++;
  }
  if (pos + 9 > bytes.length || bytes[pos] !== 0x2c) return undefined;
  const right = bytes.readUInt16LE(pos + 1) + bytes.readUInt16LE(pos + 5);
  const bottom = bytes.readUInt16LE(pos + 3) + bytes.readUInt16LE(pos + 7);
  return plausible(Math.max(bytes.readUInt16LE(6), right), Math.max(bytes.readUInt16LE(8), bottom));
}

const WEBP_CANVAS = 0x56503858;
const WEBP_LOSSY = 0x56503820;
const WEBP_LOSSLESS = 0x5650384c;
const IS_ANIMATED = 2;

/** Some decoders take the canvas, others the first frame outside of an animation. */
function webpSize(bytes: Buffer): ImageSize | undefined {
  if (bytes.length < 30) return undefined;
  if (bytes.readUInt32BE(12) !== WEBP_CANVAS) return webpFrameSize(bytes, 12);
  if (bytes.readUInt32LE(16) !== 10) return undefined;
  const [width, height] = [bytes.readUIntLE(24, 3) + 1, bytes.readUIntLE(27, 3) + 1];
  let pos = 30;
  while (pos + 8 <= bytes.length) {
    const type = bytes.readUInt32BE(pos);
    if (type === WEBP_LOSSY || type === WEBP_LOSSLESS) {
      const frame = webpFrameSize(bytes, pos);
      return frame && { width: Math.max(width, frame.width), height: Math.max(height, frame.height) };
    }
    const length = bytes.readUInt32LE(pos + 4);
    pos += 8 + length + (length % 2);
  }
  const isWhole = pos >= 8 + bytes.readUInt32LE(4);
  return isWhole && (bytes.readUInt8(20) & IS_ANIMATED) !== 0 ? { width, height } : undefined;
}

/** The size of a frame whose chunk begins at `pos`. */
function webpFrameSize(bytes: Buffer, pos: number): ImageSize | undefined {
  if (pos + 18 > bytes.length) return undefined;
  switch (bytes.readUInt32BE(pos)) {
    case WEBP_LOSSY:
      return plausible(bytes.readUInt16LE(pos + 14) & 0x3fff, bytes.readUInt16LE(pos + 16) & 0x3fff);
    case WEBP_LOSSLESS: {
      const packed = bytes.readUInt32LE(pos + 9);
      return plausible((packed & 0x3fff) + 1, ((packed >>> 14) & 0x3fff) + 1);
    }
    default:
      return undefined;
  }
}

/**
 * Segments follow each other with their lengths; the frame header (SOF) among them has the size.
 * Before it come only tables, metadata and comments: decoders skip some other markers without a
 * length.
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
    const isKnown = [0xc4, 0xcc, 0xdb, 0xdd, 0xfe].includes(marker) || (marker & 0xf0) === 0xe0;
    const length = bytes.readUInt16BE(pos + 2);
    if (!isKnown || length < 2) return undefined;
    pos += 2 + length;
  }
  return undefined;
}

function plausible(width: number, height: number): ImageSize | undefined {
  return width > 0 && height > 0 ? { width, height } : undefined;
}

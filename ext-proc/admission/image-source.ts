import { type ImageSize, imageSize, isJpeg } from './image-size.ts';
import { BACKSLASH } from './json-bytes.ts';
import { unescapeText } from './json-text.ts';

export type ImageSource =
  | { readonly kind: 'inline'; readonly size: ImageSize | undefined }
  | { readonly kind: 'remote' }
  | { readonly kind: 'invalid'; readonly requirement: string };

/** `data:image/png;base64,` with any parameters between; a media type is at most 255 characters, so is all that stands before the data. */
const DATA_URI = /^data:image\/[a-z0-9.+-]{1,100}(?:;[a-z0-9!#$&^_.+-]{1,50}=[a-z0-9!#$&^_.+-]{1,50})*;base64,/i;
const LONGEST_HEAD = 255;
const REMOTE = /^\s*https?:/i;

const INLINE_ONLY = 'must be a data: URI with an image media type and base64 data';

/** What an image's `url` is: the text between the quotes at `start` and `end`. */
export function imageSource(bytes: Buffer, start: number, end: number): ImageSource {
  // PHP writes every slash as \/, so base64 data may be full of escapes.
  if (bytes.subarray(start, end).includes(BACKSLASH)) {
    const text = Buffer.from(unescapeText(bytes, start, end));
    return sourceOf(text, 0, text.length);
  }
  return sourceOf(bytes, start, end);
}

function sourceOf(bytes: Buffer, start: number, end: number): ImageSource {
  const head = bytes.toString('latin1', start, Math.min(end, start + LONGEST_HEAD));
  if (REMOTE.test(head)) return { kind: 'remote' };
  const uri = DATA_URI.exec(head);
  if (!uri) return { kind: 'invalid', requirement: INLINE_ONLY };
  const data = start + uri[0].length;
  if (!isBase64(bytes, data, end)) return { kind: 'invalid', requirement: 'has data that is not base64' };
  return { kind: 'inline', size: sizeOf(bytes, data, end) };
}

/** Standard alphabet, padded or not, nothing between. */
function isBase64(bytes: Buffer, start: number, end: number): boolean {
  let dataEnd = end;
  while (dataEnd > start && end - dataEnd < 2 && bytes[dataEnd - 1] === 0x3d) dataEnd--;
  const padding = end - dataEnd;
  const rest = (dataEnd - start) % 4;
  if (dataEnd === start || rest === 1 || (padding > 0 && rest + padding !== 4)) return false;
  for (let pos = start; pos < dataEnd; pos++) {
    if (BASE64[bytes[pos] as number] === 0) return false;
  }
  return true;
}

/** Base64 characters to decode: a header, or as much metadata as cameras put before a JPEG's frame header. Multiples of four. */
const HEADER_CHARACTERS = 64;
const JPEG_CHARACTERS = 262_144;

function sizeOf(bytes: Buffer, start: number, end: number): ImageSize | undefined {
  const header = decode(bytes, start, Math.min(end, start + HEADER_CHARACTERS));
  return imageSize(isJpeg(header) ? decode(bytes, start, Math.min(end, start + JPEG_CHARACTERS)) : header);
}

function decode(bytes: Buffer, start: number, end: number): Buffer {
  return Buffer.from(bytes.toString('latin1', start, end), 'base64');
}

const BASE64 = new Uint8Array(256);
for (const character of 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/')
  BASE64[character.charCodeAt(0)] = 1;

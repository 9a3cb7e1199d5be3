import { isObject, type JsonObject } from '#core/json-object.ts';

/** Blocks, each with its `cache_control`, without blank text, which Anthropic refuses. */
export function contentBlocks(content: unknown): JsonObject[] {
  if (typeof content === 'string') return textBlock(content, {});
  return Array.isArray(content) ? content.filter(isObject).flatMap(blockOf) : [];
}

/** Keeps only text blocks. System, developer and assistant messages may contain no others. */
export function textBlocks(content: unknown): JsonObject[] {
  return contentBlocks(content).filter(({ type }) => type === 'text');
}

/** Adds the `cache_control` that some clients write beside a message's text to its last block. */
export function withCacheControl(blocks: JsonObject[], of: JsonObject): JsonObject[] {
  const last = blocks.at(-1);
  return last === undefined ? blocks : [...blocks.slice(0, -1), { ...cacheControl(of), ...last }];
}

export function cacheControl({ cache_control }: JsonObject): JsonObject {
  return isObject(cache_control) ? { cache_control } : {};
}

export function textBlock(text: unknown, part: JsonObject): JsonObject[] {
  return typeof text === 'string' && /\S/.test(text) ? [{ type: 'text', text, ...cacheControl(part) }] : [];
}

function blockOf(part: JsonObject): JsonObject[] {
  switch (part.type) {
    case 'text':
      return textBlock(part.text, part);
    case 'refusal':
      return textBlock(part.refusal, part);
    case 'image_url':
      return imageBlock(isObject(part.image_url) ? part.image_url.url : part.image_url, part);
    case 'file':
      return isObject(part.file) ? documentBlock(part.file, part) : [];
    default:
      return [];
  }
}

function imageBlock(url: unknown, part: JsonObject): JsonObject[] {
  if (typeof url !== 'string') return [];
  const inline = inlineData(url);
  const source = inline === undefined ? { type: 'url', url } : base64Source(inline);
  return [{ type: 'image', source, ...cacheControl(part) }];
}

/** Anthropic refuses longer names of files. */
const LONGEST_TITLE = 255;

function documentBlock({ file_data, filename }: JsonObject, part: JsonObject): JsonObject[] {
  const inline = typeof file_data === 'string' ? inlineData(file_data) : undefined;
  if (inline === undefined) return [];
  const title = typeof filename === 'string' && filename !== '' ? { title: filename.slice(0, LONGEST_TITLE) } : {};
  return [{ type: 'document', source: base64Source(inline), ...title, ...cacheControl(part) }];
}

interface InlineData {
  readonly mediaType: string;
  readonly data: string;
}

function base64Source({ mediaType, data }: InlineData): JsonObject {
  return { type: 'base64', media_type: mediaType, data };
}

const LONGEST_HEAD = 512;

/** Splits a `data:` URI with base64. The data is not read, because it may have 20 MiB. */
function inlineData(uri: string): InlineData | undefined {
  const comma = uri.slice(0, LONGEST_HEAD).indexOf(',');
  const [, named] = /^data:([^;]*);(?:.*;)?base64$/i.exec(uri.slice(0, Math.max(comma, 0))) ?? [];
  if (named === undefined) return undefined;
  const mediaType = named.toLowerCase();
  return { mediaType: mediaType === 'image/jpg' ? 'image/jpeg' : mediaType, data: uri.slice(comma + 1) };
}

import { isObject, type JsonObject } from '#core/json-object.ts';
import { type InvalidField, invalid, isInvalid } from '../door.ts';
import { isElement, NOT_AN_ELEMENT } from '../given-members.ts';

export interface ReadParts {
  readonly kind: 'parts';
  readonly parts: readonly JsonObject[];
  readonly places: readonly string[];
}

/** A block and its place, as `param` names it. */
export type PlacedBlock = readonly [block: unknown, place: string];

export function placedBlocks(blocks: readonly unknown[], place: string): PlacedBlock[] {
  return blocks.map((block, index) => [block, `${place}[${index}]`]);
}

/** Blocks of a user, of a system prompt, or of the result of a tool as parts of chat. */
export function readParts(blocks: readonly PlacedBlock[]): ReadParts | InvalidField {
  const parts: JsonObject[] = [];
  const places: string[] = [];
  for (const [block, at] of blocks) {
    const read = isElement(block) ? readBlock(block, at) : invalid(at, NOT_AN_ELEMENT);
    if (isInvalid(read)) return read;
    for (const part of Array.isArray(read) ? read : [read]) {
      parts.push(part);
      places.push(at);
    }
  }
  return { kind: 'parts', parts, places };
}

function readBlock(block: JsonObject, place: string): JsonObject | JsonObject[] | InvalidField {
  const { type, ...members } = block;
  switch (type) {
    case 'text':
      return textPart(members);
    case 'image':
      return imagePart(members, place);
    case 'document':
      return documentParts(members, place);
    case 'search_result':
      return searchResult(members, place);
    case 'tool_reference':
      return refusedText(members, ['tool_name'], place) ?? { type: 'text', text: members.tool_name };
    default:
      return invalid(`${place}.type`, 'must be text, image or document here: no model has tools of a provider');
  }
}

/** Leaves out null, booleans and empty lists. Chat's rules count all other members. */
function spoken(members: JsonObject): JsonObject {
  const said = Object.entries(members).filter(([, value]) => value !== null && typeof value !== 'boolean');
  return Object.fromEntries(said.filter(([, value]) => !(Array.isArray(value) && value.length === 0)));
}

export function textPart({ text, ...rest }: JsonObject): JsonObject {
  return { type: 'text', text, ...spoken(rest) };
}

function imagePart({ source, ...rest }: JsonObject, place: string): JsonObject | InvalidField {
  if (!isObject(source) || (source.type !== 'base64' && source.type !== 'url'))
    return invalid(`${place}.source`, 'must be of type base64 or url');
  const refused = refusedText(source, source.type === 'url' ? ['url'] : ['media_type', 'data'], `${place}.source`);
  if (refused) return refused;
  const url = source.type === 'url' ? source.url : dataUrl(source);
  return { type: 'image_url', image_url: { url }, ...spoken(rest) };
}

function refusedText(members: JsonObject, names: readonly string[], place: string): InvalidField | undefined {
  const other = names.find((name) => typeof members[name] !== 'string');
  return other === undefined ? undefined : invalid(`${place}.${other}`, 'must be a string');
}

function dataUrl({ media_type, data }: JsonObject): string {
  return `data:${media_type};base64,${data}`;
}

/** A document becomes a file, or text after its title and context. */
function documentParts(block: JsonObject, place: string): JsonObject | JsonObject[] | InvalidField {
  const { source: given, title, context, citations: _, ...rest } = block;
  const source: JsonObject = isObject(given) ? given : {};
  const at = `${place}.source`;
  const head = [title, context].filter((text) => typeof text === 'string' && text !== '');
  switch (source.type) {
    case 'base64': {
      const refused = refusedText(source, ['media_type', 'data'], at);
      if (refused) return refused;
      const file = { file_data: dataUrl(source), ...named(title) };
      const before = typeof context === 'string' && context !== '' ? [{ type: 'text', text: context }] : [];
      return [...before, { type: 'file', file, ...spoken(rest) }];
    }
    case 'text':
      return (
        refusedText(source, ['data'], at) ?? {
          type: 'text',
          text: [...head, source.data].join('\n\n'),
          ...spoken(rest),
        }
      );
    case 'content': {
      const read = readInner(source.content, `${at}.content`);
      if (read.kind === 'invalid') return read;
      const parts = [...head.map((text): JsonObject => ({ type: 'text', text })), ...read.parts];
      const last = parts.at(-1) ?? {};
      // Assigned in place: with nested documents, each level would copy what it contains.
      for (const [name, value] of Object.entries(spoken(rest))) if (name !== '__proto__') last[name] = value;
      return parts;
    }
    default:
      return invalid(`${at}.type`, 'must be base64, text or content; send the file itself');
  }
}

function readInner(content: unknown, place: string): ReadParts | InvalidField {
  const blocks = typeof content === 'string' ? [{ type: 'text', text: content }] : content;
  return Array.isArray(blocks)
    ? readParts(placedBlocks(blocks, place))
    : invalid(place, 'must be an array of content blocks');
}

function named(title: unknown): JsonObject {
  return typeof title === 'string' && title !== '' ? { filename: title } : {};
}

function searchResult(block: JsonObject, place: string): JsonObject | InvalidField {
  const { source, title, content, citations: _, ...rest } = block;
  const read = readInner(content, `${place}.content`);
  if (read.kind === 'invalid') return read;
  const texts = [title, source, ...read.parts.map(({ text }) => text)].filter((text) => typeof text === 'string');
  return { type: 'text', text: texts.join('\n\n'), ...spoken(rest) };
}

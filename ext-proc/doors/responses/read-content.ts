import type { JsonObject } from '#core/json-object.ts';
import { asContent } from '../../dialects/content-of-texts.ts';
import { type InvalidField, invalid } from '../door.ts';
import { isElement, NOT_AN_ELEMENT } from '../given-members.ts';

/** Members of output that are not input for a model. */
const NOT_INPUT: ReadonlySet<string> = new Set(['annotations', 'logprobs']);

export interface ReadContent {
  readonly kind: 'content';
  readonly content: unknown;
}

/** Content or tool output in chat's form. Other kinds stay unchanged: chat's rules refuse them. */
export function readContent(content: unknown, place: string): ReadContent | InvalidField {
  if (!Array.isArray(content)) return { kind: 'content', content };
  const parts: JsonObject[] = [];
  for (const [index, part] of content.entries()) {
    if (!isElement(part)) return invalid(`${place}[${index}]`, NOT_AN_ELEMENT);
    const read = readPart(part);
    if (read === undefined)
      return invalid(`${place}[${index}].type`, 'must be input_text, input_image, input_file, output_text or refusal');
    parts.push(read);
  }
  return { kind: 'content', content: parts.length === 1 ? asContent(parts) : parts };
}

function readPart({ type, ...members }: JsonObject): JsonObject | undefined {
  const rest = Object.fromEntries(Object.entries(members).filter(([name, value]) => isInput(name, value)));
  switch (type) {
    case 'input_text':
    case 'output_text':
    case 'text':
      return { type: 'text', ...rest };
    case 'refusal':
      return { type: 'refusal', ...rest };
    case 'input_image':
      return imagePart(rest);
    case 'input_file':
      return filePart(rest);
    default:
      return undefined;
  }
}

function isInput(name: string, value: unknown): boolean {
  return value !== null && !NOT_INPUT.has(name);
}

/** An image with `file_id` becomes a file: chat's rules refuse files of a provider's store. */
function imagePart({ image_url: url, detail, file_id, ...rest }: JsonObject): JsonObject {
  if (file_id !== undefined) return filePart({ file_id });
  return { type: 'image_url', image_url: { url, ...(detail === undefined ? {} : { detail }) }, ...rest };
}

function filePart({ file_data, filename, file_id, file_url, ...rest }: JsonObject): JsonObject {
  const file = Object.entries({ file_data, filename, file_id, file_url }).filter(([, value]) => value !== undefined);
  return { type: 'file', file: Object.fromEntries(file), ...rest };
}

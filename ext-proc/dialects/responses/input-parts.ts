import { isObject, type JsonObject } from '#core/json-object.ts';

/**
 * Content of a system, developer, user or tool message. Text is unchanged, and parts get their
 * names in Responses. Members that Responses does not know (`cache_control`) are left out, because
 * it would refuse them.
 */
export function inputContent(content: unknown): string | JsonObject[] {
  if (!Array.isArray(content)) return typeof content === 'string' ? content : '';
  return content.filter(isObject).flatMap(inputPart);
}

/** Content of an assistant's message. Text becomes output, and refusals stay refusals. */
export function spokenParts(content: readonly unknown[]): JsonObject[] {
  return content.filter(isObject).flatMap(({ text, refusal }) => {
    if (typeof refusal === 'string') return [refusalPart(refusal)];
    return typeof text === 'string' ? [textPart(text)] : [];
  });
}

export function textPart(text: string): JsonObject {
  return { type: 'output_text', text, annotations: [] };
}

export function refusalPart(refusal: string): JsonObject {
  return { type: 'refusal', refusal };
}

function inputPart(part: JsonObject): JsonObject[] {
  const breakpoint = isObject(part.prompt_cache_breakpoint)
    ? { prompt_cache_breakpoint: part.prompt_cache_breakpoint }
    : {};
  switch (part.type) {
    case 'text':
      return [{ type: 'input_text', text: part.text, ...breakpoint }];
    case 'refusal':
      return [{ type: 'input_text', text: part.refusal, ...breakpoint }];
    case 'image_url':
      return [{ ...imagePart(part.image_url), ...breakpoint }];
    case 'file':
      return isObject(part.file) ? [{ ...filePart(part.file), ...breakpoint }] : [];
    default:
      return [];
  }
}

/** An image is given as an object or, by some clients, as its bare URL. */
function imagePart(image: unknown): JsonObject {
  const { url, detail } = isObject(image) ? image : { url: image, detail: undefined };
  return { type: 'input_image', image_url: url, detail: typeof detail === 'string' ? detail : 'auto' };
}

/** Name of a file that came without one. Responses requires a name beside `file_data`. */
const UNNAMED_FILE = 'document.pdf';

function filePart({ file_data, filename }: JsonObject): JsonObject {
  return { type: 'input_file', filename: typeof filename === 'string' ? filename : UNNAMED_FILE, file_data };
}

import type { Refusal } from '#core/errors/refusal.ts';
import { type ChatFacts, eachMember, invalidField } from './chat-facts.ts';
import { imageEdits } from './edited-messages.ts';
import type { JsonCursor } from './json/json-cursor.ts';

/** Accepted types of content parts. Each part has a member that is named like its type. */
export type PartType = 'text' | 'image_url' | 'refusal' | 'file';
export const MESSAGE_PARTS: readonly PartType[] = ['text', 'image_url', 'file', 'refusal'];

/** Members that carry media. Some parsers read them in a part of any type. */
const MEDIA: ReadonlySet<string> = new Set(['image_url', 'video_url', 'audio_url', 'input_audio', 'file']);

/** Makes the `param` for a member of the part, such as `.image_url.url`. */
type ParamOf = (member: string) => string;

export function readPart(
  cursor: JsonCursor,
  facts: ChatFacts,
  accepted: readonly PartType[],
  paramOf: ParamOf,
): Refusal | undefined {
  if (cursor.kind() !== 'object') return invalidField(paramOf(''), 'must be an object');
  facts.prompt.parts++;
  const written = cursor.wordOfMember('type');
  const type = accepted.find((name) => name === written);
  if (type === undefined) {
    const requirement = `must be ${accepted.filter((name) => name !== 'refusal').join(' or ')}`;
    return eachMember(cursor, paramOf, () => void cursor.skip()) ?? invalidField(paramOf('.type'), requirement);
  }
  let isThere = false;
  const refusal = eachMember(cursor, paramOf, (name) => {
    if (name === 'type') return void cursor.skip();
    if (name === type) {
      isThere = true;
      if (type === 'image_url') return readImage(cursor, facts, paramOf);
      return type === 'file' ? readFile(cursor, facts, paramOf) : countText(cursor, facts, () => paramOf(`.${type}`));
    }
    if (MEDIA.has(name) && cursor.kind() !== 'null')
      return invalidField(paramOf(`.${name}`), `has no place in a part of type ${type}`);
    return void facts.prompt.addJson(cursor.span());
  });
  if (refusal) return refusal;
  return isThere ? undefined : invalidField(paramOf(`.${type}`), 'is missing');
}

export function countText(cursor: JsonCursor, facts: ChatFacts, param: () => string): Refusal | undefined {
  if (cursor.kind() !== 'string') return invalidField(param(), 'must be a string');
  facts.prompt.addText(cursor.textSpan());
  return undefined;
}

/** Some clients send a string. The provider gets the official form, `{"url": …}`. */
function readImage(cursor: JsonCursor, facts: ChatFacts, paramOf: ParamOf): Refusal | undefined {
  if (cursor.kind() === 'string') {
    facts.edits.push(...imageEdits(cursor));
    return noteImage(cursor, facts, paramOf);
  }
  if (cursor.kind() !== 'object') return invalidField(paramOf('.image_url'), 'must be an object with a url');
  let hasUrl = false;
  const refusal = eachMember(
    cursor,
    (member) => paramOf(`.image_url${member}`),
    (name) => {
      if (name !== 'url') return void facts.prompt.addJson(cursor.span());
      if (cursor.kind() !== 'string') return invalidField(paramOf('.image_url.url'), 'must be a string');
      hasUrl = true;
      return noteImage(cursor, facts, paramOf);
    },
  );
  return refusal ?? (hasUrl ? undefined : invalidField(paramOf('.image_url.url'), 'must be a string'));
}

function noteImage(cursor: JsonCursor, facts: ChatFacts, paramOf: ParamOf): undefined {
  facts.hasImages = true;
  const { start, end } = cursor.textSpan();
  facts.prompt.images.push({ start, end, param: paramOf('.image_url') });
}

/** Accepts only the file itself: ids mean nothing to other providers, and links are not fetched. */
function readFile(cursor: JsonCursor, facts: ChatFacts, paramOf: ParamOf): Refusal | undefined {
  if (cursor.kind() !== 'object') return invalidField(paramOf('.file'), 'must be an object with file_data');
  let hasData = false;
  const refusal = eachMember(
    cursor,
    (member) => paramOf(`.file${member}`),
    (name) => {
      const kind = cursor.kind();
      if (name === 'file_data') {
        if (kind !== 'string') return invalidField(paramOf('.file.file_data'), 'must be a string');
        hasData = true;
        facts.fileParam ??= paramOf('.file');
        const { start, end } = cursor.textSpan();
        return void facts.prompt.files.push({ start, end, param: paramOf('.file.file_data') });
      }
      if ((name === 'file_id' || name === 'file_url') && kind !== 'null')
        return invalidField(paramOf(`.file.${name}`), 'is not offered; send the file itself as file_data');
      if (name === 'filename' && kind !== 'null') return countText(cursor, facts, () => paramOf('.file.filename'));
      return void facts.prompt.addJson(cursor.span());
    },
  );
  if (refusal) return refusal;
  return hasData ? undefined : invalidField(paramOf('.file.file_data'), 'must be a data: URI of a PDF file');
}

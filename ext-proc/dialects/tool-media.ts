import { isObject, type JsonObject } from '#core/json-object.ts';

/**
 * Results of tools may have images and files in other APIs; in chat they are text. A message of the
 * user behind the results brings what they cannot have.
 */
export function withoutToolMedia(chat: JsonObject): JsonObject {
  if (!Array.isArray(chat.messages)) return chat;
  const messages: unknown[] = [];
  let media: JsonObject[] = [];
  const say = () => {
    if (media.length > 0) messages.push({ role: 'user', content: media });
    media = [];
  };
  for (const message of chat.messages) {
    const isResult = isObject(message) && message.role === 'tool';
    if (!isResult) say();
    messages.push(isResult ? textsOf(message, media) : message);
  }
  say();
  return { ...chat, messages };
}

const MEDIA: ReadonlySet<unknown> = new Set(['image_url', 'file']);

/**
 * Stands for media that were all of a result: a result must say something. What is new fits into
 * the ceiling of a message's frame (token-tally.ts), so the hold covers it.
 */
const BELOW = '(see below)';

/** The message with its texts. Its images and files are added to `media`. */
function textsOf(message: JsonObject, media: JsonObject[]): JsonObject {
  const { content } = message;
  if (!Array.isArray(content)) return message;
  const texts: unknown[] = [];
  const before = media.length;
  for (const part of content) {
    if (isObject(part) && MEDIA.has(part.type)) media.push(part);
    else texts.push(part);
  }
  if (media.length === before) return message;
  return { ...message, content: texts.length > 0 ? texts : BELOW };
}

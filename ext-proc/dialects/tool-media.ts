import { isObject, type JsonObject } from '#core/json-object.ts';
import { asContent } from './content-of-texts.ts';

const MEDIA: ReadonlySet<unknown> = new Set(['image_url', 'file']);

/** Text of a result that contained only media, because a result must have text. */
const BELOW = '(see below)';

/** True if the result of a tool has an image or a file. */
export function hasToolMedia({ messages }: JsonObject): boolean {
  return Array.isArray(messages) && messages.some((message) => isResult(message) && partsOf(message).some(isMedium));
}

/**
 * Moves images and files from tool results, where chat allows only text, into the user message that
 * follows the results. If none follows, one is added. The few tokens that this adds are far below
 * the ceiling of an image, so the hold covers them.
 */
export function withoutToolMedia(chat: JsonObject): JsonObject {
  if (!Array.isArray(chat.messages)) return chat;
  const messages: unknown[] = [];
  let media: JsonObject[] = [];
  for (const message of chat.messages) {
    if (isResult(message)) {
      const found = partsOf(message).filter(isMedium);
      media.push(...found);
      messages.push(found.length === 0 ? message : { ...message, content: textsOf(message) });
      continue;
    }
    const isUser = isObject(message) && message.role === 'user';
    if (media.length > 0 && !isUser) messages.push({ role: 'user', content: media });
    messages.push(media.length > 0 && isUser ? { ...message, content: [...media, ...partsOf(message)] } : message);
    media = [];
  }
  if (media.length > 0) messages.push({ role: 'user', content: media });
  return { ...chat, messages };
}

function isResult(message: unknown): message is JsonObject {
  return isObject(message) && message.role === 'tool';
}

function isMedium(part: JsonObject): boolean {
  return MEDIA.has(part.type);
}

function partsOf({ content }: JsonObject): JsonObject[] {
  if (typeof content === 'string') return [{ type: 'text', text: content }];
  return Array.isArray(content) ? content.filter(isObject) : [];
}

function textsOf(message: JsonObject): unknown {
  const texts = partsOf(message).filter((part) => !isMedium(part));
  return texts.length === 0 ? BELOW : asContent(texts);
}

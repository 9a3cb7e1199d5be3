import { type Completion, textOf } from './completion.ts';
import { isObject } from './json-object.ts';

/**
 * Most chunks of a stream differ from the one before in nothing but their content. Such a chunk is recognized by comparing text, and
 * neither parsed nor edited again: that is most of what a stream costs here (parsing one takes 2 us, comparing it 0.1 us).
 *
 * It is exact: what was parsed once stays the same JSON when a plain string in it is replaced by another, one without quotes, backslashes
 * and control characters.
 */
export class ContentTemplate {
  /** Of the provider's text, up to and from the quotes of the content. */
  #head = '';
  #tail = '';
  /** Of the event that the client is sent. */
  #open = '';
  #close = '';

  /** The content of a chunk that is otherwise as the one learnt. */
  match(text: string): string | undefined {
    const end = text.length - this.#tail.length;
    if (this.#head === '' || end < this.#head.length) return undefined;
    // Comparing slices takes 0.04 us where startsWith and endsWith take 0.7.
    if (text.slice(0, this.#head.length) !== this.#head || text.slice(end) !== this.#tail) return undefined;
    const content = text.slice(this.#head.length, end);
    return isPlain(content) ? content : undefined;
  }

  /** The event for a chunk that has matched. */
  eventWith(content: string): string {
    return this.#open + content + this.#close;
  }

  /** `event` is what was made of the chunk for the client. */
  learn(text: string, completion: Completion, event: string): void {
    const content = onlyContent(completion);
    if (content === undefined) return;
    const provided = around(text, content);
    const sent = around(event, content);
    if (provided === undefined || sent === undefined) return;
    [this.#head, this.#tail] = provided;
    [this.#open, this.#close] = sent;
  }
}

/** Only what goes on like this: one choice, not finished, and no text but its content. */
function onlyContent({ choices, usage }: Completion): string | undefined {
  const [choice] = choices;
  if (choices.length !== 1 || !isObject(choice) || !isObject(choice.delta) || isObject(usage)) return undefined;
  const { content } = choice.delta;
  const { finish_reason: reason } = choice;
  if (typeof content !== 'string' || content === '' || (reason !== null && reason !== undefined)) return undefined;
  return textOf(choice) === content ? content : undefined;
}

const FIELD = '"content"';

/** What stands before and after the content, where the text has that field once and writes it as it is. */
function around(text: string, content: string): [head: string, tail: string] | undefined {
  const field = text.indexOf(FIELD);
  const start = field + FIELD.length + 2;
  if (field === -1 || text.indexOf(FIELD, start) !== -1 || text.charAt(field - 1) === '\\') return undefined;
  const end = start + content.length;
  const isValue = text.startsWith(':"', start - 2) && text.startsWith(content, start) && text.charAt(end) === '"';
  return isValue && isPlain(content) ? [text.slice(0, start), text.slice(end)] : undefined;
}

const QUOTE = 0x22;
const BACKSLASH = 0x5c;

function isPlain(content: string): boolean {
  for (let at = 0; at < content.length; at++) {
    const code = content.charCodeAt(at);
    if (code === QUOTE || code === BACKSLASH || code < 0x20) return false;
  }
  return true;
}

import type { CalledTool } from '../chat-message.ts';
import type { SentItem } from './sent-parts.ts';

/**
 * The order of a stream's calls. A Responses stream may interleave them; chat streams do not, and
 * clients such as LangChain4j end a call when another one begins. So only the oldest call is passed
 * on as it comes. Later ones wait until they and all before them are whole.
 *
 * If the client gets the provider's own events, no call waits: the translation is only metered, and
 * must contain what the client has received.
 */
export class SentCalls {
  /** Calls that are not passed on whole, the oldest first, with their input if it has come. */
  readonly #open = new Map<SentItem, CalledTool | undefined>();
  readonly #isPassed: boolean;
  keptCharacters = 0;

  constructor(isPassed = false) {
    this.#isPassed = isPassed;
  }

  /** Takes a call's beginning. True if the call is passed on as it comes. */
  begin(sent: SentItem): boolean {
    if (this.#isPassed) return sent.call === undefined;
    if (sent.isWhole || this.#open.has(sent)) return false;
    this.#open.set(sent, undefined);
    return this.#open.size === 1;
  }

  /** Takes a whole call. Returns those that may be passed on now. */
  end(sent: SentItem, called: CalledTool): (readonly [SentItem, CalledTool])[] {
    this.#open.set(sent, called);
    this.keptCharacters += charactersOf(called);
    return this.#oldest();
  }

  /** Takes the end of a call's input. Later calls no longer wait for one that was passed on. */
  inputEnded(sent: SentItem): (readonly [SentItem, CalledTool])[] {
    if (sent.content[0] === true && this.#open.get(sent) === undefined) this.#open.delete(sent);
    return this.#oldest();
  }

  #oldest(): (readonly [SentItem, CalledTool])[] {
    const passed: (readonly [SentItem, CalledTool])[] = [];
    for (const [item, whole] of this.#open) {
      if (whole === undefined) break;
      passed.push(this.#passed(item, whole));
    }
    return passed;
  }

  /** Whole calls that waited for one whose end never came. */
  rest(): (readonly [SentItem, CalledTool])[] {
    return [...this.#open].flatMap(([item, whole]) => (whole === undefined ? [] : [this.#passed(item, whole)]));
  }

  #passed(item: SentItem, whole: CalledTool): readonly [SentItem, CalledTool] {
    this.#open.delete(item);
    this.keptCharacters -= charactersOf(whole);
    return [item, whole];
  }
}

function charactersOf({ id, name, input }: CalledTool): number {
  return id.length + name.length + input.length;
}

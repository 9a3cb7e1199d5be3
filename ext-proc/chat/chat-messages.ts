import type { Refusal } from '#core/errors/refusal.ts';
import { type ChatFacts, eachMember, type FieldRule, invalidField } from './chat-facts.ts';
import { countText, MESSAGE_PARTS, readPart } from './content-parts.ts';
import { emptyContent } from './edited-messages.ts';
import type { JsonCursor, JsonKind, Span } from './json/json-cursor.ts';

/** An empty string consists of its quotes. */
const EMPTY_STRING_BYTES = 2;
const ROLES: ReadonlySet<string> = new Set(['system', 'developer', 'user', 'assistant', 'tool', 'function']);

/** Roles of messages that a model answers. Clients change messages of other roles. */
const HEARD: ReadonlySet<string> = new Set(['user', 'tool', 'function']);

/** `messages`: an array with at least one message, as was checked before (`missing_messages`). */
export function checkMessages(...[cursor, facts]: Parameters<FieldRule>): Refusal | undefined {
  return cursor.eachElement((index) => new MessageReader(cursor, facts, index).read());
}

function placeIn(detail: JsonCursor): number {
  const place = detail.eachMember((name) => {
    if (name === 'index' && detail.kind() === 'number') return detail.number();
    return void detail.skip();
  });
  return place ?? 0;
}

/** Reads a message. Rules between members run at the end, since members have no fixed order. */
class MessageReader {
  readonly #cursor: JsonCursor;
  readonly #facts: ChatFacts;
  readonly #index: number;
  #role = '';
  #hasContent = false;
  /** Where content belongs that is missing: its null, or an empty span behind the role. */
  #contentPlace: Span | undefined;
  /** True if an assistant message has tool calls, a refusal or reasoning. */
  #speaksOtherwise = false;
  #hasToolCallId = false;
  #toolCalls: Span | undefined;
  #lacksDetails: boolean | Span = true;
  #hasExtraContent = false;
  /** `reasoning_content`, and whether it has a value. */
  #reasoning: (Span & { readonly isGiven: boolean }) | undefined;
  /** List and index of the content part or tool call in progress, for `param`. */
  #list: 'content' | 'tool_calls' | undefined;
  #item = 0;

  constructor(cursor: JsonCursor, facts: ChatFacts, index: number) {
    this.#cursor = cursor;
    this.#facts = facts;
    this.#index = index;
  }

  read(): Refusal | undefined {
    if (this.#cursor.kind() !== 'object') return this.#invalid('', 'must be an object');
    const { prompt } = this.#facts;
    prompt.messages++;
    const firstPiece = prompt.pieceCount;
    const refusal = this.#eachMember('', (name) => this.#member(name));
    if (refusal) return refusal;
    if (this.#role === '') return this.#invalid('.role', `must be one of ${[...ROLES].join(', ')}`);
    if (!this.#hasContent && this.#role !== 'assistant') {
      return this.#invalid('.content', 'must be a string or an array of content parts');
    }
    // Clients send back empty answers, and models may refuse a null.
    const place = this.#hasContent || this.#speaksOtherwise ? undefined : this.#contentPlace;
    if (place) this.#facts.edits.push(emptyContent(place));
    if (this.#role === 'tool' && !this.#hasToolCallId) return this.#invalid('.tool_call_id', 'must be a string');
    const { called } = this.#facts;
    if (HEARD.has(this.#role)) called.hears({ firstPiece, endPiece: prompt.pieceCount }, this.#role === 'user');
    this.#noteCalls();
    return undefined;
  }

  #noteCalls(): void {
    const [toolCalls, reasoning] = [this.#toolCalls, this.#reasoning];
    if (this.#role !== 'assistant' || toolCalls === undefined) return;
    const contentPlace = reasoning ?? { start: toolCalls.end, end: toolCalls.end };
    this.#facts.called.add({
      ...{ message: this.#index, toolCalls, lacksDetails: this.#lacksDetails },
      lacksExtraContent: !this.#hasExtraContent,
      contentPlace: reasoning?.isGiven ? undefined : contentPlace,
    });
  }

  #member(name: string): Refusal | undefined {
    const cursor = this.#cursor;
    const kind = cursor.kind();
    switch (name) {
      case 'role':
        this.#facts.prompt.addRole(cursor);
        this.#contentPlace ??= { start: cursor.end, end: cursor.end };
        this.#role = kind === 'string' ? cursor.word() : '';
        return ROLES.has(this.#role) ? undefined : this.#invalid('.role', `must be one of ${[...ROLES].join(', ')}`);
      case 'content':
        return this.#content();
      case 'name':
        return kind === 'null' ? void cursor.skip() : this.#countedText('.name');
      case 'tool_call_id':
        this.#hasToolCallId = kind === 'string';
        return kind === 'null' ? void cursor.skip() : this.#countedText('.tool_call_id');
      case 'tool_calls':
        if (kind === 'null') return void cursor.skip();
        if (kind !== 'array') return this.#invalid('.tool_calls', 'must be an array');
        if (cursor.copy().eachElement(() => true) === true) this.#toolCalls = { start: cursor.start, end: cursor.end };
        return this.#eachItem('tool_calls', () => this.#toolCall());
      case 'function_call':
        if (kind === 'null') return void cursor.skip();
        this.#speaksOtherwise = true;
        return this.#called('.function_call', 'arguments');
      case 'refusal':
        if (kind === 'null') return void cursor.skip();
        this.#speaksOtherwise = true;
        return this.#countedText('.refusal');
      case 'audio':
        // The id of an answer that a provider has stored, in the operator's account.
        return kind === 'null' ? void cursor.skip() : this.#invalid('.audio', 'is not offered: completions are text');
      case 'reasoning_details':
        this.#lacksDetails = kind !== 'array' || this.#lackOf(cursor.copy());
        return this.#unknownMember();
      case 'reasoning_content':
        this.#reasoningContent(kind);
        return this.#unknownMember();
      default:
        return this.#unknownMember();
    }
  }

  /** Counts unknown nested fields (`cache_control`): providers may show them to the model. */
  #unknownMember(): undefined {
    this.#facts.prompt.addJson(this.#cursor.span());
    return undefined;
  }

  /**
   * What a list of reasoning lacks. Its entries have the places of their items, so those whose
   * first one is at a later place may lack others. Only these are compared with what was kept.
   */
  #lackOf(details: JsonCursor): boolean | Span {
    const { start, end } = details;
    const place = details.eachElement(() => (details.kind() === 'object' ? placeIn(details) : 0));
    if (place === undefined) return true;
    return place > 0 ? { start, end } : false;
  }

  #reasoningContent(kind: JsonKind): void {
    const { start, end } = this.#cursor;
    const isEmptyText = kind === 'string' && end - start === EMPTY_STRING_BYTES;
    // Histories of reasoning models have messages that only contain reasoning.
    if (kind === 'string' && !isEmptyText) this.#speaksOtherwise = true;
    this.#reasoning = { start, end, isGiven: kind !== 'null' && !isEmptyText };
  }

  #content(): Refusal | undefined {
    switch (this.#cursor.kind()) {
      case 'null':
        this.#contentPlace = this.#cursor.span();
        return;
      case 'string':
        this.#hasContent = true;
        return this.#countedText('.content');
      case 'array':
        this.#hasContent = true;
        return this.#eachItem('content', () =>
          readPart(this.#cursor, this.#facts, MESSAGE_PARTS, (at) => this.#param(at)),
        );
      default:
        return this.#invalid('.content', 'must be a string or an array of content parts');
    }
  }

  #eachItem(list: 'content' | 'tool_calls', read: () => Refusal | undefined): Refusal | undefined {
    this.#list = list;
    const refusal = this.#cursor.eachElement((index) => {
      this.#item = index;
      return read();
    });
    if (!refusal) this.#list = undefined;
    return refusal;
  }

  #toolCall(): Refusal | undefined {
    const cursor = this.#cursor;
    if (cursor.kind() !== 'object') return this.#invalid('', 'must be an object');
    this.#speaksOtherwise = true;
    this.#facts.prompt.toolCalls++;
    let [hasId, isDefined] = [false, false];
    const type = cursor.wordOfMember('type');
    if (type !== 'function' && type !== 'custom') {
      return this.#eachMember('', () => void cursor.skip()) ?? this.#invalid('.type', 'must be "function" or "custom"');
    }
    const refusal = this.#eachMember('', (name) => {
      switch (name) {
        case 'id':
          hasId = true;
          return this.#countedText('.id');
        case 'type':
          return void cursor.skip();
        case type:
          isDefined = true;
          return this.#called(`.${type}`, type === 'custom' ? 'input' : 'arguments');
        case 'extra_content':
          if (cursor.kind() === 'object') this.#hasExtraContent = true;
          return this.#unknownMember();
        default:
          return this.#unknownMember();
      }
    });
    if (refusal) return refusal;
    if (!hasId) return this.#invalid('.id', 'must be a string');
    return isDefined ? undefined : this.#invalid(`.${type}`, 'must be an object');
  }

  /** A function or custom tool that was called. `given`: the member with its input. */
  #called(at: '.function' | '.function_call' | '.custom', given: 'arguments' | 'input'): Refusal | undefined {
    const [cursor, { prompt }] = [this.#cursor, this.#facts];
    if (cursor.kind() !== 'object') return this.#invalid(at, 'must be an object');
    let [hasName, hasGiven] = [false, false];
    const refusal = this.#eachMember(at, (name) => {
      if (name !== 'name' && name !== given) return this.#unknownMember();
      if (name === 'name') hasName = true;
      else hasGiven = true;
      if (name !== 'arguments' || cursor.kind() !== 'string') return this.#countedText(`${at}.${name}`);
      return void prompt.addArguments(cursor.textSpan());
    });
    if (refusal) return refusal;
    if (!hasName) return this.#invalid(`${at}.name`, 'must be a string');
    return hasGiven ? undefined : this.#invalid(`${at}.${given}`, 'must be a string');
  }

  #eachMember(at: string, read: (name: string) => Refusal | undefined): Refusal | undefined {
    return eachMember(this.#cursor, (member) => this.#param(at + member), read);
  }

  #countedText(at: string): Refusal | undefined {
    return countText(this.#cursor, this.#facts, () => this.#param(at));
  }

  #invalid(at: string, requirement: string): Refusal {
    return invalidField(this.#param(at), requirement);
  }

  #param(at: string): string {
    const item = this.#list === undefined ? '' : `.${this.#list}[${this.#item}]`;
    return `messages[${this.#index}]${item}${at}`;
  }
}

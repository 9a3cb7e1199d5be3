import type { Refusal } from '../../core/errors/refusal.ts';
import { type ChatFacts, eachMember, type FieldRule, invalidField } from './chat-facts.ts';
import type { JsonCursor } from './json/json-cursor.ts';

const ROLES: ReadonlySet<string> = new Set(['system', 'developer', 'user', 'assistant', 'tool', 'function']);

/** `messages`: an array with at least one message, which is checked before (`missing_messages`). */
export function checkMessages(...[cursor, facts]: Parameters<FieldRule>): Refusal | undefined {
  return cursor.eachElement((index) => new MessageReader(cursor, facts, index).read());
}

/**
 * Reads one message. Members may come in any order, so rules between members are checked at the
 * end.
 */
class MessageReader {
  readonly #cursor: JsonCursor;
  readonly #facts: ChatFacts;
  readonly #index: number;
  #role = '';
  #hasContent = false;
  /** An assistant message needs no content if it has tool calls, a refusal or audio. */
  #speaksOtherwise = false;
  #hasToolCallId = false;
  /** Index of the content part or tool call in progress, for `param`. */
  #list: 'content' | 'tool_calls' | undefined;
  #item = 0;

  constructor(cursor: JsonCursor, facts: ChatFacts, index: number) {
    this.#cursor = cursor;
    this.#facts = facts;
    this.#index = index;
  }

  read(): Refusal | undefined {
    if (this.#cursor.kind() !== 'object') return this.#invalid('', 'must be an object');
    this.#facts.prompt.messages++;
    const refusal = this.#eachMember('', (name) => this.#member(name));
    if (refusal) return refusal;
    if (this.#role === '') return this.#invalid('.role', `must be one of ${[...ROLES].join(', ')}`);
    if (!this.#hasContent && !(this.#role === 'assistant' && this.#speaksOtherwise)) {
      return this.#invalid('.content', 'must be a string or an array of content parts');
    }
    if (this.#role === 'tool' && !this.#hasToolCallId) return this.#invalid('.tool_call_id', 'must be a string');
    return undefined;
  }

  #member(name: string): Refusal | undefined {
    const cursor = this.#cursor;
    const kind = cursor.kind();
    switch (name) {
      case 'role':
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
        return this.#eachItem('tool_calls', () => this.#toolCall());
      case 'function_call':
        if (kind === 'null') return void cursor.skip();
        this.#speaksOtherwise = true;
        return this.#calledFunction('.function_call');
      case 'refusal':
        if (kind === 'null') return void cursor.skip();
        this.#speaksOtherwise = true;
        return this.#countedText('.refusal');
      default:
        return this.#unknownMember(name);
    }
  }

  /**
   * Unknown nested fields pass (`reasoning_content`, `cache_control`); providers may show them to
   * the model, so they are counted.
   */
  #unknownMember(name = ''): undefined {
    if (name === 'audio' && this.#cursor.kind() === 'object') this.#speaksOtherwise = true;
    this.#facts.prompt.addJson(this.#cursor.span());
    return undefined;
  }

  #content(): Refusal | undefined {
    switch (this.#cursor.kind()) {
      case 'null':
        return void this.#cursor.skip();
      case 'string':
        this.#hasContent = true;
        return this.#countedText('.content');
      case 'array':
        this.#hasContent = true;
        return this.#eachItem('content', () => this.#part());
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

  #part(): Refusal | undefined {
    const cursor = this.#cursor;
    if (cursor.kind() !== 'object') return this.#invalid('', 'must be an object');
    this.#facts.prompt.parts++;
    const type = cursor.wordOfMember('type');
    if (!PART_TYPES.has(type)) {
      return this.#eachMember('', () => void cursor.skip()) ?? this.#invalid('.type', 'must be text or image_url');
    }
    let isThere = false;
    const refusal = this.#eachMember('', (name) => {
      if (name === 'type') return void cursor.skip();
      if (name === type) {
        isThere = true;
        return type === 'image_url' ? this.#image() : this.#countedText(`.${type}`);
      }
      if (MEDIA.has(name) && cursor.kind() !== 'null')
        return this.#invalid(`.${name}`, `has no place in a part of type ${type}`);
      return this.#unknownMember();
    });
    if (refusal) return refusal;
    return isThere ? undefined : this.#invalid(`.${type}`, 'is missing');
  }

  #image(): Refusal | undefined {
    const cursor = this.#cursor;
    if (cursor.kind() !== 'object') return this.#invalid('.image_url', 'must be an object with a url');
    let hasUrl = false;
    const refusal = this.#eachMember('.image_url', (name) => {
      if (name !== 'url') return this.#unknownMember();
      if (cursor.kind() !== 'string') return this.#invalid('.image_url.url', 'must be a string');
      hasUrl = true;
      this.#facts.hasImages = true;
      const { isEscaped } = cursor;
      const { start, end } = cursor.textSpan();
      this.#facts.prompt.images.push({ start, end, isEscaped, param: this.#param('.image_url') });
      return undefined;
    });
    return refusal ?? (hasUrl ? undefined : this.#invalid('.image_url.url', 'must be a string'));
  }

  #toolCall(): Refusal | undefined {
    const cursor = this.#cursor;
    if (cursor.kind() !== 'object') return this.#invalid('', 'must be an object');
    this.#speaksOtherwise = true;
    this.#facts.prompt.toolCalls++;
    let [hasId, isFunction, isDefined] = [false, false, false];
    const refusal = this.#eachMember('', (name) => {
      switch (name) {
        case 'id':
          hasId = true;
          return this.#countedText('.id');
        case 'type':
          isFunction = cursor.kind() === 'string' && cursor.word() === 'function';
          return isFunction ? undefined : this.#invalid('.type', 'must be "function"');
        case 'function':
          isDefined = true;
          return this.#calledFunction('.function');
        default:
          return this.#unknownMember();
      }
    });
    if (refusal) return refusal;
    if (!hasId) return this.#invalid('.id', 'must be a string');
    if (!isFunction) return this.#invalid('.type', 'must be "function"');
    return isDefined ? undefined : this.#invalid('.function', 'must be an object');
  }

  #calledFunction(at: '.function' | '.function_call'): Refusal | undefined {
    const cursor = this.#cursor;
    if (cursor.kind() !== 'object') return this.#invalid(at, 'must be an object');
    let [hasName, hasArguments] = [false, false];
    const refusal = this.#eachMember(at, (name) => {
      if (name !== 'name' && name !== 'arguments') return this.#unknownMember();
      if (name === 'name') hasName = true;
      else hasArguments = true;
      return this.#countedText(`${at}.${name}`);
    });
    if (refusal) return refusal;
    if (!hasName) return this.#invalid(`${at}.name`, 'must be a string');
    return hasArguments ? undefined : this.#invalid(`${at}.arguments`, 'must be a string');
  }

  #eachMember(at: string, read: (name: string) => Refusal | undefined): Refusal | undefined {
    return eachMember(this.#cursor, (member) => this.#param(at + member), read);
  }

  #countedText(at: string): Refusal | undefined {
    if (this.#cursor.kind() !== 'string') return this.#invalid(at, 'must be a string');
    this.#facts.prompt.addText(this.#cursor.textSpan());
    return undefined;
  }

  #invalid(at: string, requirement: string): Refusal {
    return invalidField(this.#param(at), requirement);
  }

  #param(at: string): string {
    const item = this.#list === undefined ? '' : `.${this.#list}[${this.#item}]`;
    return `messages[${this.#index}]${item}${at}`;
  }
}

/** The content parts that are accepted. Each has the member that it is named for. */
const PART_TYPES: ReadonlySet<string> = new Set(['text', 'image_url', 'refusal']);

/** Members that carry media. Some parsers go by them, whatever the type of the part is. */
const MEDIA: ReadonlySet<string> = new Set(['image_url', 'video_url', 'audio_url', 'input_audio', 'file']);

import type { ChatRequest } from '../../chat/chat-request.ts';
import type { Evictable, MemoryReservation } from '../../fairness/shared-budget.ts';
import type { SentListener } from '../provider/provider-call.ts';

/** Bodies up to this size stay to the end: most are small, and freeing costs more than it saves. */
const SMALL_BYTES = 16 * 1024;

/**
 * Bytes of a longer prompt that are counted if the provider reports no usage, some 65,000 tokens.
 * The rest is estimated.
 */
const COUNTED_BYTES = 256 * 1024;

/**
 * Memory of the client's body during attempts. A body that was sent is evictable, because only a
 * retry would need it. Once a response is delivered, only the part is kept that may be counted.
 */
export class RequestMemory implements Evictable {
  readonly #chat: ChatRequest;
  readonly #reservation: MemoryReservation;
  #isSent = false;
  #hasResponse = false;
  #isFree = false;
  /** True after a second attempt began. The body may still be read to count a failed attempt. */
  #isRetried = false;
  #translatedBytes = 0;

  constructor(chat: ChatRequest, reservation: MemoryReservation) {
    this.#chat = chat;
    this.#reservation = reservation;
  }

  /** Called before each attempt but the first. False: the body is freed, so there is no attempt. */
  mayBeSent(): boolean {
    this.#isSent = false;
    this.#isRetried = true;
    return !this.#isFree && this.#reservation.pin();
  }

  /** Reserves memory for a translated body until it is sent. False: there is no room for it. */
  takeTranslated(bytes: number): boolean {
    this.#dropTranslated();
    if (!this.#reservation.take(bytes)) return false;
    this.#translatedBytes = bytes;
    return true;
  }

  #dropTranslated(): void {
    this.#reservation.shrinkTo(this.#reservation.heldBytes - this.#translatedBytes);
    this.#translatedBytes = 0;
  }

  /** Listener for an attempt. Absent for a small body, because sending it frees nothing. */
  get sentListener(): SentListener | undefined {
    return this.#reservation.heldBytes > SMALL_BYTES ? this : undefined;
  }

  /** Notes that the whole body has left this process. */
  sent(): void {
    this.#isSent = true;
    this.#dropTranslated();
    this.#letGo();
  }

  /** Notes that a response is being delivered, so no other attempt follows. */
  answered(): void {
    this.#hasResponse = true;
    this.#dropTranslated();
    this.#letGo();
  }

  /** Frees the body after the response. If it may still be read, the garbage collector does. */
  ended(): void {
    if (this.#isSent && this.#hasResponse && !this.#isRetried && !this.#isFree) this.evict();
  }

  /** Evicts the body. The estimate of the prompt remains. */
  evict(): void {
    this.#isFree = true;
    this.#translatedBytes = 0;
    this.#chat.keepText(0);
  }

  #letGo(): void {
    if (!this.#isSent || this.#reservation.heldBytes <= SMALL_BYTES) return;
    if (this.#hasResponse && !this.#isFree && this.#reservation.heldBytes > COUNTED_BYTES) {
      this.#isFree = true;
      this.#reservation.shrinkTo(this.#chat.keepText(COUNTED_BYTES));
    }
    this.#reservation.makeEvictable(this);
  }
}

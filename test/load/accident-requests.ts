import { randomUUID } from 'node:crypto';
import { type GatewayClient, outcome } from '../harness/gateway-client.ts';
import { type COUNTED_MODELS, WORD } from './counting-provider.ts';

/**
 * What the client saw of one request while processes were killed. It is compared with the ledger
 * after the run.
 */
export interface Seen {
  readonly plan: number;
  readonly kind: string;
  readonly streamed: boolean;
  readonly keyed: boolean;
  readonly maxTokens: number;
  readonly startedAt: Date;
  generationId?: string;
  /** Words of output that the client received. */
  words: number;
  ending: Ending;
  /** Status and code, or how the connection ended. Only for the report. */
  detail: string;
}

/**
 * `error` is a stream with a final error event, `cut` a broken connection, `replayed` a stored
 * response, `left` a client that disconnected.
 */
export type Ending = 'complete' | 'replayed' | 'error' | 'cut' | 'left' | 'refused';

interface Kind {
  readonly name: string;
  /** Percentage; all shares add up to 100. */
  readonly share: number;
  readonly model: (typeof COUNTED_MODELS)[number];
  readonly streamed: boolean;
  /** Sent with an Idempotency-Key, and repeated whatever the outcome. */
  readonly keyed?: true;
  /** The client disconnects at the first piece, or after these milliseconds. */
  readonly leaves?: 'first piece' | number;
  /** Sent by the customer whose balance runs out. */
  readonly poor?: true;
}

export const KINDS: readonly Kind[] = [
  { name: 'json', share: 22, model: 'json', streamed: false },
  { name: 'stream', share: 24, model: 'stream', streamed: true },
  { name: 'slow stream', share: 10, model: 'slow', streamed: true },
  { name: 'keyed json', share: 10, model: 'json', streamed: false, keyed: true },
  { name: 'keyed stream', share: 10, model: 'stream', streamed: true, keyed: true },
  { name: 'stream that its provider cuts', share: 6, model: 'cut', streamed: true },
  { name: 'leaves a stream', share: 5, model: 'slow', streamed: true, leaves: 'first piece' },
  { name: 'leaves before the first event', share: 3, model: 'late', streamed: true, leaves: 400 },
  { name: 'poor json', share: 5, model: 'json', streamed: false, poor: true },
  { name: 'poor stream', share: 5, model: 'stream', streamed: true, poor: true },
];

const KEYED_TRIES = 12;
const TRY_AGAIN_MS = 2_500;
const FEWEST_WORDS = 10;
const MOST_WORDS = 60;

export const wordsOf = (plan: number): number => FEWEST_WORDS + ((plan * 7919) % (MOST_WORDS - FEWEST_WORDS));

export function kindOf(plan: number): Kind {
  const deck = KINDS.flatMap((kind) => Array<Kind>(kind.share).fill(kind));
  const kind = deck[(plan * 37) % deck.length];
  if (kind === undefined) throw new Error('the shares are positive');
  return kind;
}

/**
 * Plays one plan and returns what was seen. A request with a key is repeated, each time by the next
 * client.
 */
export async function play(plan: number, clients: readonly GatewayClient[]): Promise<readonly Seen[]> {
  const kind = kindOf(plan);
  const clientOf = (tries: number): GatewayClient => {
    const client = clients[(plan + tries) % clients.length];
    if (client === undefined) throw new Error('there is a client for every plan');
    return client;
  };
  if (!kind.keyed) return [await ask(plan, kind, clientOf(0), {})];
  const headers = { 'idempotency-key': randomUUID() };
  const all: Seen[] = [];
  for (let tries = 1; tries <= KEYED_TRIES; tries++) {
    const seen = await ask(plan, kind, clientOf(tries), headers);
    all.push(seen);
    if (seen.ending === 'replayed') break;
    // A complete response is requested once more too, which has to be a replay.
    if (seen.ending !== 'complete') await new Promise((resolve) => setTimeout(resolve, TRY_AGAIN_MS));
  }
  return all;
}

async function ask(
  plan: number,
  kind: Kind,
  client: GatewayClient,
  headers: Readonly<Record<string, string>>,
): Promise<Seen> {
  const words = wordsOf(plan);
  const maxTokens = words + 20;
  const seen: Seen = {
    plan,
    kind: kind.name,
    streamed: kind.streamed,
    keyed: kind.keyed === true,
    maxTokens,
    startedAt: new Date(),
    words: 0,
    ending: 'cut',
    detail: '',
  };
  const leaving = new AbortController();
  const timer = typeof kind.leaves === 'number' ? setTimeout(() => leaving.abort(), kind.leaves) : undefined;
  let text = '';
  const body = {
    model: kind.model,
    stream: kind.streamed,
    max_tokens: maxTokens,
    messages: [{ role: 'user', content: `plan ${plan} words ${words}${WORD.repeat(plan % 50)}` }],
  };
  try {
    const received = await client.chat(body, {
      headers,
      signal: leaving.signal,
      onHead: (_status, head) => {
        const id = head['x-generation-id'];
        if (typeof id === 'string') seen.generationId = id;
      },
      onPiece: (piece) => {
        text += piece;
        if (kind.leaves === 'first piece') leaving.abort();
      },
    });
    seen.detail = outcome(received);
    const isReplayed = received.headers['idempotent-replayed'] === 'true';
    seen.ending = received.status === 200 ? endingOf(text, kind.streamed, isReplayed) : 'refused';
  } catch (error) {
    seen.detail = (error as Error).message;
    seen.ending = leaving.signal.aborted ? 'left' : 'cut';
  } finally {
    clearTimeout(timer);
  }
  seen.words = text.split(WORD).length - 1;
  return seen;
}

function endingOf(text: string, streamed: boolean, isReplayed: boolean): Ending {
  if (!streamed) return isReplayed ? 'replayed' : 'complete';
  if (!text.endsWith('data: [DONE]\n\n')) return 'cut';
  if (text.includes('"finish_reason":"error"')) return 'error';
  return isReplayed ? 'replayed' : 'complete';
}

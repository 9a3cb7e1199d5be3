import { ALL, FAR, GATEWAY, LIMITED_PEER, ORGANIZATIONS, PEER, PLAIN, type SideName, WITH_REDIS } from './sides.ts';

type JsonModel = 'json' | 'responses-json' | 'messages-json';
type StreamModel = 'fast-stream' | 'openai-stream' | 'responses-stream' | 'messages-stream' | 'paced-stream';

/** The requests of clients at another door. */
interface DoorOfClients {
  readonly path: string;
  body(said: string): object;
  /** Text that only a complete response contains. */
  readonly jsonEnd: string;
  readonly lastEvent: string;
}

const RESPONSES: DoorOfClients = {
  path: '/v1/responses',
  body: (input) => ({ input }),
  jsonEnd: '"status":"completed"',
  lastEvent: 'response.completed',
};

const MESSAGES: DoorOfClients = {
  path: '/v1/messages',
  body: (content) => ({ max_tokens: 1000, messages: [{ role: 'user', content }] }),
  jsonEnd: '"stop_reason":"end_turn"',
  lastEvent: 'message_stop',
};

/** One load of the bench, such as small requests, long prompts or many concurrent streams. */
export interface Scenario {
  readonly name: string;
  readonly model: JsonModel | StreamModel;
  /** Absent for chat completions. */
  readonly door?: DoorOfClients;
  readonly bodyBytes: number;
  readonly concurrency: number;
  readonly requests: number;
  /** Number of organizations whose requests take turns. Default: one. */
  readonly organizations?: number;
  /** Events of one stream. Costs are then per event. */
  readonly events?: number;
  /** Last event of the provider's stream, unless it is one of chat completions. */
  readonly lastEvent?: string;
  /** Time between the starts of the first requests. */
  readonly rampMs?: number;
  /** Rounds before the measured ones: V8 keeps optimizing for some 20,000 small requests. */
  readonly warmUps: number;
  /** Most measured rounds, for scenarios whose rounds take seconds on any machine. */
  readonly mostRounds?: number;
  /** The sides that are worth measuring in this scenario. */
  readonly sides: readonly SideName[];
}

const KB = 1024;

const WITHOUT_REDIS: readonly SideName[] = [PLAIN, GATEWAY, PEER, LIMITED_PEER];
const WITHOUT_PEERS: readonly SideName[] = [PLAIN, GATEWAY, WITH_REDIS];

/**
 * The first scenario warms up for the others: afterwards the code for a request is compiled, as in
 * a process that has run for days.
 */
export const SMALL: Scenario = {
  name: '1 KB, c=32',
  model: 'json',
  bodyBytes: KB,
  concurrency: 32,
  requests: 3000,
  warmUps: 8,
  sides: [...ALL, FAR],
};

export const ALONE: Scenario = { ...SMALL, name: '1 KB, c=1', concurrency: 1, requests: 400, warmUps: 1 };

export const LARGE: Scenario = {
  name: '100 KB, c=8',
  model: 'json',
  bodyBytes: 100 * KB,
  concurrency: 8,
  requests: 800,
  warmUps: 2,
  sides: ALL,
};

export const FAST_STREAMS: Scenario = {
  name: '200 events, c=8',
  model: 'fast-stream',
  bodyBytes: KB,
  concurrency: 8,
  requests: 300,
  events: 200,
  warmUps: 2,
  sides: ALL,
};

export const OPENAI_STREAMS: Scenario = {
  ...FAST_STREAMS,
  name: '200 events of OpenAI, c=8',
  model: 'openai-stream',
  warmUps: 1,
};

/** A round lasts for two streams in sequence, 3 s each. */
function pacedStreams(concurrency: number, rampMs: number): Scenario {
  const name = `paced streams, c=${concurrency}`;
  const requests = 2 * concurrency;
  return {
    name,
    model: 'paced-stream',
    bodyBytes: KB,
    concurrency,
    requests,
    events: 10,
    rampMs,
    warmUps: 0,
    mostRounds: 1,
    sides: WITHOUT_REDIS,
  };
}

/** The scenario `like` at another door, with at least two warm-up rounds. */
function atDoor(like: Scenario, name: string, door: DoorOfClients, model: Scenario['model']): Scenario {
  return { ...like, name, door, model, warmUps: Math.max(2, like.warmUps), sides: [GATEWAY] };
}

export const SCENARIOS: readonly Scenario[] = [
  SMALL,
  { ...SMALL, name: '1 KB, c=8', concurrency: 8, requests: 2000, warmUps: 1, sides: WITHOUT_REDIS },
  { ...SMALL, name: '1 KB, c=128', concurrency: 128, requests: 2000, warmUps: 1, sides: WITHOUT_REDIS },
  ALONE,
  {
    ...SMALL,
    name: `1 KB, c=32, ${ORGANIZATIONS} organizations`,
    organizations: ORGANIZATIONS,
    requests: 2000,
    warmUps: 1,
    sides: [...WITHOUT_PEERS, LIMITED_PEER],
  },
  LARGE,
  FAST_STREAMS,
  OPENAI_STREAMS,
  {
    ...OPENAI_STREAMS,
    name: '200 events of Responses, c=8',
    model: 'responses-stream',
    lastEvent: 'response.completed',
    sides: [PLAIN, GATEWAY],
  },
  {
    ...OPENAI_STREAMS,
    name: '200 events of Messages, c=8',
    model: 'messages-stream',
    lastEvent: 'message_stop',
    sides: [PLAIN, GATEWAY],
  },
  atDoor(SMALL, '1 KB at the door of Responses, passed', RESPONSES, 'responses-json'),
  atDoor(SMALL, '1 KB at the door of Responses, translated', RESPONSES, 'json'),
  atDoor(SMALL, '1 KB at the door of Messages, passed', MESSAGES, 'messages-json'),
  atDoor(SMALL, '1 KB at the door of Messages, translated', MESSAGES, 'json'),
  atDoor(OPENAI_STREAMS, '200 events at the door of Responses, passed', RESPONSES, 'responses-stream'),
  atDoor(OPENAI_STREAMS, '200 events at the door of Responses, translated', RESPONSES, 'openai-stream'),
  atDoor(OPENAI_STREAMS, '200 events at the door of Messages, passed', MESSAGES, 'messages-stream'),
  atDoor(OPENAI_STREAMS, '200 events at the door of Messages, translated', MESSAGES, 'openai-stream'),
  pacedStreams(200, 2),
  pacedStreams(2000, 0.5),
];

const JSON_MODELS: ReadonlySet<string> = new Set<JsonModel>(['json', 'responses-json', 'messages-json']);

export function isStream({ model }: Scenario): boolean {
  return !JSON_MODELS.has(model);
}

/** Text that only a complete response contains. */
export function endOf(scenario: Scenario, isFromProvider: boolean): string {
  const { door, lastEvent } = scenario;
  if (!isStream(scenario)) return door?.jsonEnd ?? '"finish_reason":"stop"';
  const event = isFromProvider ? lastEvent : door?.lastEvent;
  return event === undefined ? 'data: [DONE]' : `event: ${event}`;
}

export function bodyOf(scenario: Scenario): string {
  const { model, bodyBytes, door } = scenario;
  const stream = isStream(scenario);
  const asked = (said: string) =>
    JSON.stringify({ model, stream, ...(door?.body(said) ?? { messages: [{ role: 'user', content: said }] }) });
  const words = 'the quick brown fox jumps over the lazy dog '.repeat(Math.ceil(bodyBytes / 44));
  return asked(words.slice(0, Math.max(0, bodyBytes - asked('').length)));
}

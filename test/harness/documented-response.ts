import type { ValidateFunction } from 'ajv';
import { type ApiResponse, apiDocument, compileSchema, responseAt } from '../fixtures/api-document.ts';
import type { Received, Send } from './http-client.ts';

/** Headers that belong to HTTP itself. Every other response header must be in docs/openapi.yaml. */
const OF_HTTP: ReadonlySet<string> = new Set([
  ...[':status', 'date', 'content-type', 'content-length', 'transfer-encoding', 'connection', 'keep-alive'],
]);

const DONE = '[DONE]';

/** Throws unless docs/openapi.yaml documents this response with its headers and its body. */
export function checkDocumented(request: Pick<Send, 'method' | 'path' | 'body'>, received: Received): void {
  const method = request.method ?? (request.body === undefined ? 'GET' : 'POST');
  const problem = problemOf(method, request.path.split('?', 1)[0] ?? '', received);
  if (problem === undefined) return;
  const { status, text } = received;
  throw new Error(`docs/openapi.yaml: ${method} ${request.path} ${status}: ${problem}\n${text.slice(0, 2000)}`);
}

function problemOf(method: string, path: string, { status, headers, text }: Received): string | undefined {
  const found = documented(method, path, status);
  if (found === undefined) return 'no such response';
  const ofHeaders = headersProblem(found[1], headers);
  if (ofHeaders !== undefined || method === 'HEAD') return ofHeaders;
  const type = String(headers['content-type']);
  if (found[1].content[type] === undefined) return `no such content-type: ${type}`;
  if (type === 'text/event-stream' && path === '/v1/responses') return responseEventsProblem(text);
  if (type === 'text/event-stream' && path === '/v1/messages') return messageEventsProblem(text);
  if (type === 'text/event-stream') return eventsProblem(validator('/components/schemas/ChatCompletionEvent'), text);
  return valueProblem(validator(`${found[0]}/content/${type.replace('/', '~1')}/schema`), text);
}

/** The JSON pointer to the documented response, and the documented response. */
function documented(method: string, path: string, status: number): [string, ApiResponse] | undefined {
  const template = path.replace(/^\/v1\/models\/.+/, '/v1/models/{model}');
  const operation = apiDocument.paths[template]?.[method.toLowerCase()];
  if (operation !== undefined) {
    const given = operation.responses[status];
    const at = `/paths/${template.replaceAll('/', '~1')}/${method.toLowerCase()}/responses/${status}`;
    return given === undefined ? undefined : responseAt(at, given);
  }
  // Envoy's own errors are the same for every path.
  const name = status === 404 ? 'RouteNotFound' : `Read${status}`;
  const response = apiDocument.components.responses[name];
  return response === undefined ? undefined : [`/components/responses/${name}`, response];
}

function headersProblem(response: ApiResponse, headers: Received['headers']): string | undefined {
  for (const name of Object.keys(headers))
    if (!OF_HTTP.has(name) && response.headers[name] === undefined) return `no such header: ${name}`;
  for (const [name, { $ref }] of Object.entries(response.headers)) {
    const value = headers[name];
    const component = apiDocument.components.headers[$ref.split('/').at(-1) ?? ''];
    if (value === undefined && component?.required === true) return `without ${name}`;
    if (value === undefined) continue;
    const validate = validator(`${$ref.slice(1)}/schema`);
    if (!validate(value) && !validate(Number(value))) return `${name} is ${value}`;
  }
  return undefined;
}

/** Checks a whole stream: each event, that a failure is the last event, and the final `[DONE]`. */
function eventsProblem(validate: ValidateFunction, text: string): string | undefined {
  const events = text
    .split('\n\n')
    .filter((event) => event !== '' && !event.split('\n').every((line) => line.startsWith(':')));
  if (events.pop() !== `data: ${DONE}`) return `the last event is not ${DONE}`;
  for (const [at, event] of events.entries()) {
    if (!/^data: .*$/.test(event)) return `an event that is not one line of data: ${event}`;
    const data = event.slice('data: '.length);
    const problem = valueProblem(validate, data);
    if (problem !== undefined) return `${problem} in ${data}`;
    if (at < events.length - 1 && data.startsWith('{"error"')) return 'events after the final event of a failure';
  }
  return undefined;
}

/** A stream of Responses ends with the event that carries the whole response. */
function responseEventsProblem(text: string): string | undefined {
  return namedEventsProblem(text, /^response\.(completed|incomplete|failed)$/);
}

/** A stream of Messages ends with `message_stop` or with an error. */
function messageEventsProblem(text: string): string | undefined {
  return namedEventsProblem(text, /^(message_stop|error)$/);
}

/** Checks that the name of each event is its type. */
function namedEventsProblem(text: string, lastType: RegExp): string | undefined {
  const events = text.split('\n\n').filter((event) => event !== '' && !event.startsWith(':'));
  const types = events.map((event) => /^event: (\S+)\ndata: \{"type":"\1".*\}$/.exec(event)?.[1]);
  if (types.includes(undefined)) return `an event without its name: ${events[types.indexOf(undefined)]}`;
  const last = types.at(-1) ?? '';
  return lastType.test(last) ? undefined : `the last event is ${last}`;
}

function valueProblem(validate: ValidateFunction, text: string): string | undefined {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return 'no JSON';
  }
  if (validate(value)) return undefined;
  return validate.errors
    ?.map(({ instancePath, message, params }) => `${instancePath} ${message} ${JSON.stringify(params)}`)
    .join('; ');
}

/** Compiled schemas by JSON pointer. */
const compiled = new Map<string, ValidateFunction>();

function validator(pointer: string): ValidateFunction {
  let found = compiled.get(pointer);
  if (found === undefined) {
    found = compileSchema(pointer);
    compiled.set(pointer, found);
  }
  return found;
}

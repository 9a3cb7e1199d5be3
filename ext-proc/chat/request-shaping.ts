import type { RequestShaping } from '#core/config/gateway-config.ts';
import { exactNumber } from '#core/exact-number.ts';
import { parseJson } from '#core/parse-json.ts';

/**
 * Applies `request` of a provider and of a target to the members of a body: drop, rename, set, and
 * set_with_tools. A member that is renamed onto another replaces it. `read` makes a value from
 * JSON text.
 */
export function shapeMembers<Value>(
  members: ReadonlyMap<string, Value>,
  shaping: readonly RequestShaping[],
  hasTools: boolean,
  read: (json: string) => Value,
): ReadonlyMap<string, Value> {
  return shaping.reduce((before, { drop, rename, set, setWithTools }) => {
    const shaped = new Map<string, Value>();
    const renamed = new Map<string, Value>();
    for (const [name, value] of before) {
      if (drop.has(name)) continue;
      const to = rename.get(name);
      if (to === undefined) shaped.set(name, value);
      else renamed.set(to, value);
    }
    for (const [name, value] of renamed) shaped.set(name, value);
    for (const [name, json] of set) shaped.set(name, read(json));
    for (const [name, json] of hasTools ? setWithTools : []) shaped.set(name, read(json));
    return shaped;
  }, members);
}

export function shapedRole(role: string, shaping: readonly RequestShaping[]): string {
  return shaping.reduce((before, { roles }) => roles.get(before) ?? before, role);
}

export function changesRoles(shaping: readonly RequestShaping[]): boolean {
  return shaping.some(({ roles }) => roles.size > 0);
}

type Json = Record<string, unknown>;

/** As the functions above, for a body that is an object. Messages are in `messages` or `input`. */
export function shapeObject(body: Json, shaping: readonly RequestShaping[]): Json {
  const hasTools = Array.isArray(body.tools) && body.tools.length > 0;
  const members = new Map(Object.entries(body));
  const shaped = Object.fromEntries(shapeMembers<unknown>(members, shaping, hasTools, parseNotated));
  if (!changesRoles(shaping)) return shaped;
  for (const name of ['messages', 'input']) {
    const messages = shaped[name];
    if (Array.isArray(messages)) shaped[name] = messages.map((message: Json) => withRole(message, shaping));
  }
  return shaped;
}

/** Keeps the notation of numbers that JavaScript would write in another way. */
export function parseNotated(json: string): unknown {
  return parseJson(json, (value, source) => (typeof value === 'number' ? exactNumber(value, source) : value));
}

function withRole(message: Json, shaping: readonly RequestShaping[]): Json {
  return typeof message.role === 'string' ? { ...message, role: shapedRole(message.role, shaping) } : message;
}

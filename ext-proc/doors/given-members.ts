import { isObject, type JsonObject } from '#core/json-object.ts';
import { type InvalidField, invalid } from './door.ts';

/** Clients may write null for a member that they leave out. */
export function isGiven(value: unknown): boolean {
  return value !== undefined && value !== null;
}

export function givenMembers(members: JsonObject): JsonObject {
  return Object.fromEntries(Object.entries(members).filter(([, value]) => isGiven(value)));
}

/** Both APIs demand the schema of a format. Chat does not, and would pass a format without one. */
export function refusedFormat(format: unknown, place: string): InvalidField | undefined {
  const lacksSchema = isObject(format) && format.type === 'json_schema' && !isObject(format.schema);
  return lacksSchema ? invalid(`${place}.schema`, 'must be a JSON Schema object') : undefined;
}

/** Most members of a turn, block, item or tool. Official ones have fewer than twelve. */
const MOST_MEMBERS = 64;
export const NOT_AN_ELEMENT = `must be an object of at most ${MOST_MEMBERS} members`;

/**
 * True for an object that a list of a request may contain. Copying an object with thousands of
 * members takes ten times as long as reading a text of its length.
 */
export function isElement(value: unknown): value is JsonObject {
  return isObject(value) && Object.keys(value).length <= MOST_MEMBERS;
}

/** Takes the elements of a list in order, until one is refused. */
export function eachElement(
  list: readonly unknown[],
  place: string,
  take: (element: JsonObject, at: string) => InvalidField | undefined,
): InvalidField | undefined {
  for (const [index, element] of list.entries()) {
    const at = `${place}[${index}]`;
    const refused = isElement(element) ? take(element, at) : invalid(at, NOT_AN_ELEMENT);
    if (refused) return refused;
  }
  return undefined;
}

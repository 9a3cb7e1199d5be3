import type { JsonCursor, Span } from '../../chat/json/json-cursor.ts';

/** Type of item that keeps its id, because its encrypted content contains the same id. */
const KEEPS_ITS_ID = 'reasoning';

/**
 * Positions of the ids in a list of items, each with an adjacent comma. A provider may look an id
 * up among the operator's own items, and an item that is sent whole needs none. The cursor must be
 * at the list, and is moved behind it.
 */
export function storedIds(cursor: JsonCursor): Span[] {
  const ids: Span[] = [];
  if (cursor.kind() !== 'array') {
    cursor.skip();
    return ids;
  }
  cursor.eachElement(() => {
    const id = cursor.kind() === 'object' ? idOf(cursor) : void cursor.skip();
    if (id !== undefined) ids.push(id);
    return undefined;
  });
  return ids;
}

function idOf(cursor: JsonCursor): Span | undefined {
  let id: Span | undefined;
  let isFirst = false;
  let isKept = false;
  let before: number | undefined;
  cursor.eachMember((word) => {
    const { keyStart, end } = cursor;
    // The first member is removed with the comma after it.
    if (id !== undefined && isFirst) id = { start: id.start, end: keyStart };
    isFirst = word === 'id' && before === undefined;
    if (word === 'id') id = { start: before ?? keyStart, end };
    if (word === 'type' && cursor.kind() === 'string')
      isKept = cursor.copy().text(KEEPS_ITS_ID.length + 1) === KEEPS_ITS_ID;
    before = end;
    return void cursor.skip();
  });
  return isKept ? undefined : id;
}

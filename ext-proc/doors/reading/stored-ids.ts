import type { JsonCursor, Span } from '../../chat/json/json-cursor.ts';

/** Its encrypted content has the same id. */
const KEEPS_ITS_ID = 'reasoning';

/**
 * Where a list of items has ids, each with a comma beside it. A provider may look an id up among
 * the operator's own items, and an item that is sent whole needs none. The cursor stands at the
 * list, and is left behind it.
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
    // One that stands first takes the comma behind it.
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

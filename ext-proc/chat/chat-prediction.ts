import { at, eachMember, type FieldRule, invalidField } from './chat-facts.ts';
import { countText, readPart } from './content-parts.ts';

/**
 * `prediction`: a text that the completion will resemble. Its tokens that the completion lacks are
 * counted as output by providers, within the output limit
 * (https://platform.openai.com/docs/guides/predicted-outputs). The ceiling of the input includes
 * the text too, for providers that count it there.
 */
export function checkPrediction(...[cursor, facts, field]: Parameters<FieldRule>): ReturnType<FieldRule> {
  if (cursor.kind() !== 'object') return invalidField(field, 'must be an object');
  let [isContent, hasContent] = [false, false];
  const refusal = eachMember(cursor, at(field), (name) => {
    if (name === 'type') {
      isContent = cursor.kind() === 'string' && cursor.word() === 'content';
      return isContent ? undefined : invalidField(`${field}.type`, 'must be "content"');
    }
    if (name !== 'content') return void facts.prompt.addJson(cursor.span());
    hasContent = true;
    if (cursor.kind() !== 'array') return countText(cursor, facts, () => `${field}.content`);
    return cursor.eachElement((index) =>
      readPart(cursor, facts, ['text'], (member) => `${field}.content[${index}]${member}`),
    );
  });
  if (refusal) return refusal;
  if (!isContent) return invalidField(`${field}.type`, 'must be "content"');
  return hasContent ? undefined : invalidField(`${field}.content`, 'must be a string or an array of text parts');
}

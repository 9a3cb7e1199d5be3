export type Control = HTMLInputElement | HTMLSelectElement | HTMLTextAreaElement;

export function isControl(target: EventTarget): target is Control {
  return (
    target instanceof HTMLInputElement || target instanceof HTMLSelectElement || target instanceof HTMLTextAreaElement
  );
}

/** What is wrong with what stands in a control, in the page's words and language where there are any. */
export function describeInvalid({
  validity,
  validationMessage,
  type,
}: Pick<Control, 'validity' | 'validationMessage' | 'type'>): string {
  if (validity.customError) return validationMessage;
  if (validity.badInput || (validity.valueMissing && type === 'datetime-local')) return 'Enter a date and a time.';
  if (validity.valueMissing) return 'This is required.';
  if (validity.typeMismatch && type === 'email') return 'Enter an email address.';
  return validationMessage;
}

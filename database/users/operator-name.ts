/** Name that customers read instead of an operator's e-mail address, account on a machine, and network address. */
export const THE_OPERATOR = 'the operator';

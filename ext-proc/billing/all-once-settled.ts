/** Like `Promise.all`, but rejects only when every promise has settled, so none goes on alone. */
export async function allOnceSettled<Value>(promises: readonly Promise<Value>[]): Promise<Value[]> {
  const results = await Promise.allSettled(promises);
  return results.map((result) => {
    if (result.status === 'rejected') throw result.reason;
    return result.value;
  });
}

/** A run of characters that both texts have, or only one of them. */
type DiffPart = { readonly kind: 'same' | 'sent' | 'expected'; readonly text: string };

/** The table has the product of both lengths. Longer texts are compared only at their beginning and end. */
const MAX_LENGTH = 400;

/** Compares character by character: common beginning and end, longest common subsequence between them. */
export function diff(sent: string, expected: string): DiffPart[] {
  const [a, b] = [[...sent], [...expected]];
  let head = 0;
  while (head < a.length && head < b.length && a[head] === b[head]) head++;
  let tail = 0;
  while (tail < a.length - head && tail < b.length - head && a.at(-1 - tail) === b.at(-1 - tail)) tail++;
  const middle = middleParts(a.slice(head, a.length - tail), b.slice(head, b.length - tail));
  const same = (characters: readonly string[]): DiffPart => ({ kind: 'same', text: characters.join('') });
  return joined([same(a.slice(0, head)), ...middle, same(a.slice(a.length - tail))]);
}

function middleParts(a: readonly string[], b: readonly string[]): DiffPart[] {
  if (a.length > MAX_LENGTH || b.length > MAX_LENGTH)
    return [
      { kind: 'sent', text: a.join('') },
      { kind: 'expected', text: b.join('') },
    ];
  const lengths = commonLengths(a, b);
  const parts: DiffPart[] = [];
  let [i, j] = [0, 0];
  while (i < a.length || j < b.length) {
    if (i < a.length && j < b.length && a[i] === b[j]) {
      parts.push({ kind: 'same', text: a[i]! });
      i++;
      j++;
    } else if (j >= b.length || (i < a.length && lengths[i + 1]![j]! >= lengths[i]![j + 1]!)) {
      parts.push({ kind: 'sent', text: a[i++]! });
    } else {
      parts.push({ kind: 'expected', text: b[j++]! });
    }
  }
  return parts;
}

/** `[i][j]` is the length of the longest common subsequence of `a` from `i` on and `b` from `j` on. */
function commonLengths(a: readonly string[], b: readonly string[]): Uint16Array[] {
  const lengths = Array.from({ length: a.length + 1 }, () => new Uint16Array(b.length + 1));
  for (let i = a.length - 1; i >= 0; i--) {
    for (let j = b.length - 1; j >= 0; j--) {
      lengths[i]![j] =
        a[i] === b[j] ? lengths[i + 1]![j + 1]! + 1 : Math.max(lengths[i + 1]![j]!, lengths[i]![j + 1]!);
    }
  }
  return lengths;
}

function joined(parts: readonly DiffPart[]): DiffPart[] {
  const result: DiffPart[] = [];
  for (const part of parts) {
    const last = result.at(-1);
    if (part.text === '') continue;
    if (last?.kind === part.kind) result[result.length - 1] = { ...last, text: last.text + part.text };
    else result.push(part);
  }
  return result;
}

import { EVERYTHING, type Source } from './sources.ts';

/** A part of src/, a folder or some files, with its place in the order and its job. */
export type Layer = { readonly paths: readonly string[]; readonly job: string };

const layerOf = (order: readonly Layer[], path: string): number =>
  order.findIndex(({ paths }) =>
    paths.some((prefix) => (prefix.endsWith('/') ? path.startsWith(prefix) : path === prefix)),
  );

/** Imports that lead from a lower layer to a higher one, and files that belong to no layer. */
export function importsAgainstOrder(sources: readonly Source[], order: readonly Layer[]): string[] {
  return sources.flatMap(({ path, imports }) => {
    const own = layerOf(order, path);
    if (own === -1) return [`${path} is in no layer of the order`];
    return imports
      .filter((one) => layerOf(order, one.path) > own)
      .map((one) => `${path}:${one.line} imports ${one.path}, which is above it`);
  });
}

/** Groups of files that import each other, types included. Each group is sorted, and named once. */
export function importCircles(sources: readonly Source[]): string[] {
  const imports = new Map(sources.map((source) => [source.path, source.imports.map(({ path }) => path)]));
  const reachable = (start: string): Set<string> => {
    const reached = new Set<string>();
    const pending = [start];
    for (let path = pending.pop(); path !== undefined; path = pending.pop()) {
      for (const next of imports.get(path) ?? []) {
        if (reached.has(next)) continue;
        reached.add(next);
        pending.push(next);
      }
    }
    return reached;
  };
  const reached = new Map([...imports.keys()].map((path) => [path, reachable(path)]));
  const inCircle = [...reached].filter(([path, paths]) => paths.has(path));
  const groups = inCircle.map(([path, paths]) =>
    [...paths]
      .filter((other) => reached.get(other)?.has(path))
      .sort()
      .join(' ↔ '),
  );
  return [...new Set(groups)];
}

/** Exports of `sources` that no file of `users` imports by name. */
export function unusedExports(sources: readonly Source[], users: readonly Source[]): string[] {
  const used = new Set(
    users.flatMap(({ imports }) =>
      imports.flatMap(({ path, names }) => names.map((name) => `${path} ${name}`)),
    ),
  );
  return sources.flatMap(({ path, exports }) =>
    exports
      .filter(({ text }) => !used.has(`${path} ${text}`) && !used.has(`${path} ${EVERYTHING}`))
      .map(({ text }) => `${path} ${text}`),
  );
}

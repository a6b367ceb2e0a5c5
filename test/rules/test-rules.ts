import {
  isArrowFunction,
  isBinaryExpression,
  isCallExpression,
  isFunctionExpression,
  isIdentifier,
  isImportDeclaration,
  isParameterDeclaration,
  isPostfixUnaryExpression,
  isPrefixUnaryExpression,
  isPropertyAccessExpression,
  isPropertyAssignment,
  isVariableDeclaration,
  type Node,
  SyntaxKind,
} from 'typescript/unstable/ast';
import type { Source } from './sources.ts';

const nameOf = (node: Node | undefined): string | undefined =>
  node && isIdentifier(node) ? node.text : undefined;

/** Timers with which a test could wait for time to pass; `mock.timers` and socket.setTimeout() are not among them. */
const startsTimer = (node: Node): boolean =>
  (isCallExpression(node) && nameOf(node.expression) === 'setTimeout') ||
  (isPropertyAccessExpression(node) &&
    node.name.text === 'setTimeout' &&
    nameOf(node.expression) === 'globalThis') ||
  (isImportDeclaration(node) &&
    /\b(setTimeout|setInterval|scheduler|\*)[\s\S]*timers\/promises/.test(node.getText()));

/** Timers in tests, except in `allowed` files. */
export const sleeps = (sources: readonly Source[], allowed: Readonly<Record<string, string>>): string[] =>
  sources
    .filter(({ path }) => !(path in allowed))
    .flatMap(({ path, nodes, lineOf }) =>
      nodes.filter(startsTimer).map((node) => `${path}:${lineOf(node)} waits with a timer`),
    );

/** Tests marked `todo`, whose failures do not count. */
export const todos = (sources: readonly Source[]): string[] =>
  sources.flatMap(({ path, nodes, lineOf }) =>
    nodes
      .filter((node) => isPropertyAssignment(node) && nameOf(node.name) === 'todo')
      .map((node) => `${path}:${lineOf(node)} is marked todo`),
  );

const callbackOf =
  (...functions: readonly string[]) =>
  (node: Node): boolean =>
    (isArrowFunction(node) || isFunctionExpression(node)) &&
    isCallExpression(node.parent) &&
    functions.includes(nameOf(node.parent.expression) ?? '');
const isTestBody = callbackOf('test', 'it');
const isHook = callbackOf('before', 'after', 'beforeEach', 'afterEach');
const isBeforeEach = callbackOf('beforeEach');

/** The node and everything in it, without the parts that `leaveOut` names. */
function within(node: Node, leaveOut: (node: Node) => boolean = () => false): Node[] {
  const nodes: Node[] = [];
  const visit = (part: Node): void => {
    if (leaveOut(part)) return;
    nodes.push(part);
    part.forEachChild(visit);
  };
  visit(node);
  return nodes;
}

/** The variable that a node assigns to: `x = 1`, `x += 1`, `x++`. */
function assignedName(node: Node): string | undefined {
  if (isBinaryExpression(node)) {
    const { kind } = node.operatorToken;
    const assigns = kind >= SyntaxKind.FirstAssignment && kind <= SyntaxKind.LastAssignment;
    return assigns ? nameOf(node.left) : undefined;
  }
  const changes =
    (isPrefixUnaryExpression(node) || isPostfixUnaryExpression(node)) &&
    (node.operator === SyntaxKind.PlusPlusToken || node.operator === SyntaxKind.MinusMinusToken);
  return changes ? nameOf(node.operand) : undefined;
}

/** `x` in `let x` and `a.x`: a name, but no use of the variable x. */
const isOnlyName = (node: Node): boolean => (node.parent as { name?: Node } | undefined)?.name === node;
const declaredName = (node: Node): string | undefined =>
  isVariableDeclaration(node) || isParameterDeclaration(node) ? nameOf(node.name) : undefined;

/**
 * Variables that one test assigns and code outside it reads, hooks aside: another test then depends on whether
 * this one ran. A variable that beforeEach sets again is fine. `--test-randomize` finds what this cannot see.
 */
export const sharedState = (sources: readonly Source[]): string[] =>
  sources.flatMap(({ path, nodes, lineOf }) => {
    const bodies = nodes.filter(isTestBody);
    if (bodies.length < 2) return [];
    const renewed = new Set(nodes.filter(isBeforeEach).flatMap((hook) => within(hook).map(assignedName)));
    return bodies.flatMap((body) => {
      const inside = within(body);
      const own = new Set(inside.map(declaredName));
      const assignments = inside.filter((node) => {
        const name = assignedName(node);
        return name && !own.has(name) && !renewed.has(name);
      });
      if (assignments.length === 0) return [];
      const elsewhere = new Set(
        within(nodes[0]!, (node) => node === body || isHook(node))
          .filter((node) => !isOnlyName(node))
          .map(nameOf),
      );
      return assignments
        .filter((node) => elsewhere.has(assignedName(node)))
        .map((node) => `${path}:${lineOf(node)} assigns ${assignedName(node)}, which other tests use`);
    });
  });

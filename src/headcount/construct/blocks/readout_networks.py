"""Which network reads out: exact where one is known or the tokens are finitely many, else as wide
as asked for.

Order, for a readout f of the slots (x_t, memories):

1. exact: f's own network where it equals f on the slots' domain; on a finite alphabet also a table
   over all combinations of letters (one neuron per combination, or interpolation along a line), the
   zero vector of a missing token included;
2. `width` below what exactness takes: the best of sampled and fitted networks (`network_fits`),
   with its error;
3. no exact network (a product of reals, a function given as code): products by polarisation with a
   proved error, else fits.

The same serves lag functions g of the adaptive family (`lag_network`), whose arguments are always
letters.
"""

import functools
import itertools
import math

import jax
import jax.numpy as jnp
import numpy as np

from headcount.construct.blocks.network_fits import for_values, near_exact
from headcount.construct.blocks.networks import Domain, NetworkFit, lipschitz_of
from headcount.construct.draft import Refusal, RefusalKind, Request
from headcount.core.claims import Status
from headcount.core.errors import require
from headcount.memory.inputs import AbstractInputs
from headcount.memory.lag_functions import AbstractLagFunction, Alphabet, combinations
from headcount.memory.readouts import AbstractReadout, Lookup, Product
from headcount.memory.readouts.base import on_slots, taking_part
from headcount.memory.readouts.network import ReluNetwork, interpolate, zigzag

WIDEST = 512
BY_DEFINITION = 1024  # points times neurons: so few are quicker by the definition than compiled
DEFAULT_ERROR = 0.01  # of a readout without an exact network, where no tolerance is given
MOST_FACTORS = 6


def domain_of(slots: int, inputs: AbstractInputs, radius: float | None) -> Domain:
    """Where the readout is evaluated: letters, or balls. `radius` is that of filtered slots
    (essential memory); None: slots are tokens.
    """
    letters = combinations(inputs.alphabet, slots) if radius is None else None
    points = None if letters is None else letters.reshape(len(letters), -1)
    return Domain(slots, inputs.dim, max(inputs.bound, radius or 0.0), points)


def readout_refusals(
    readout: AbstractReadout, slots: int, inputs: AbstractInputs, radius: float | None = None
) -> list[Refusal]:
    """Why no network is at hand."""
    known = _known(readout, slots, inputs, radius)
    if known is not None or domain_of(slots, inputs, radius).finite:
        return []
    factors = taking_part(slots, readout.current) if isinstance(readout, Product) else 0
    why = ""
    if not math.isfinite(inputs.bound):
        why = f"no exact network, and {inputs.kind} tokens are unbounded: nothing to fit it on"
    elif factors > MOST_FACTORS:
        why = f"{factors} factors take 2^{factors - 1} directions; at most {MOST_FACTORS} factors"
    elif isinstance(readout, Lookup):
        why = "a table over letters, and these slots are not letters"
    return [Refusal(RefusalKind.READOUT, f"readout {readout.kind}", why)] if why else []


def readout_for(
    readout: AbstractReadout,
    slots: int,
    inputs: AbstractInputs,
    request: Request,
    radius: float | None = None,
) -> NetworkFit:
    """The network that the request allows."""
    domain = domain_of(slots, inputs, radius)
    exact = exact_networks(readout, slots, inputs, radius)
    if exact:
        return _joined(
            [
                narrowed(nets, request.width if readout.outputs == 1 else None, domain)
                for nets in exact
            ]
        )
    if isinstance(readout, Product):
        return product_fit(readout, domain, request)
    lipschitz = readout.lipschitz(slots, inputs.dim) if readout.holds(domain.radius, None) else None
    values = functools.partial(values_of, readout, slots, inputs.dim)
    return _joined(
        [
            _searched(lambda z, o=o: values(z)[:, o], domain, request, lipschitz)
            for o in range(readout.outputs)
        ]
    )


def exact_networks(
    readout: AbstractReadout, slots: int, inputs: AbstractInputs, radius: float | None
) -> list[list[ReluNetwork]]:
    """For every output the networks that equal it on the domain; empty where none is known."""
    known, domain = _known(readout, slots, inputs, radius), domain_of(slots, inputs, radius)
    if domain.points is None:
        return [] if known is None else [[known]]
    values = values_of(readout, slots, inputs.dim, domain.points)  # [N, o]
    assert inputs.alphabet is not None
    tables = [table_networks(inputs.alphabet, slots, values[:, o]) for o in range(readout.outputs)]
    return tables if known is None else [[known, *tables[0]]]


def _known(
    readout: AbstractReadout, slots: int, inputs: AbstractInputs, radius: float | None
) -> ReluNetwork | None:
    """The readout's own network, where it holds for slots of this size."""
    reach = inputs.bound if radius is None else radius
    fits = readout.outputs == 1 and readout.holds(
        reach, inputs.alphabet if radius is None else None
    )
    return readout.network(slots, inputs.dim) if fits else None


def values_of(readout: AbstractReadout, slots: int, d: int, points: np.ndarray) -> np.ndarray:
    """f at many flattened stacks of slots, in float64.  [N, slots d] → [N, o]"""
    if len(points) * (1 + getattr(readout, "neurons", 0)) <= BY_DEFINITION:
        return np.array([readout.reference(p) for p in points.reshape(-1, slots, d)], np.float64)
    # few different shapes: each costs a compilation
    size = 1 << max(len(points) - 1, 1).bit_length()
    padded = np.concatenate([points, np.zeros((size - len(points), points.shape[1]))])
    with jax.enable_x64(True):
        return np.asarray(readout(jnp.asarray(padded.reshape(-1, slots, d))), np.float64)[
            : len(points)
        ]


def table_networks(alphabet: Alphabet, arguments: int, values: np.ndarray) -> list[ReluNetwork]:
    """Networks that take these values on all combinations of letters (in the order of
    `combinations`).
    """
    points = combinations(alphabet, arguments)
    assert points is not None
    zero = (0.0,) * len(alphabet[0])
    letters = alphabet if zero in alphabet else (*alphabet, zero)
    table = Lookup(letters, tuple(values.tolist()), current=True).network(arguments, len(zero))
    line = interpolate(points.reshape(len(points), -1), values)
    return [net for net in (table, line) if net is not None and net.neurons]


def narrowed(exact: list[ReluNetwork], width: int | None, domain: Domain) -> NetworkFit:
    """The least steep of the exact networks that fit in the width; below their widths the best
    approximation.
    """
    fitting = [net for net in exact if width is None or net.neurons <= width]
    if fitting:
        best = min(fitting, key=lambda net: (lipschitz_of(net), net.neurons))
        return NetworkFit((best,), 0.0, f"exact, {best.neurons} neurons")
    require(
        exact and width is not None,
        "a readout that is 0 on every token",
        "one that varies on the inputs",
        "match the readout's letters to the inputs",
    )
    assert width is not None
    return near_exact(min(exact, key=lambda net: net.path_norm), width, domain)


def _joined(fits: list[NetworkFit]) -> NetworkFit:
    """One fit an output as one fit; the error is the largest."""
    if len(fits) == 1:
        return fits[0]
    notes = tuple(dict.fromkeys(note for fit in fits for note in fit.notes))
    neurons = sum(fit.neurons for fit in fits)
    return NetworkFit(
        tuple(net for fit in fits for net in fit.networks),
        max(fit.error for fit in fits),
        f"{len(fits)} outputs, {neurons} neurons",
        Status.PROVED if all(fit.status is Status.PROVED for fit in fits) else Status.MEASURED,
        notes,
    )


def _searched(values, domain: Domain, request: Request, lipschitz: float | None) -> NetworkFit:
    """A fitted network: as wide as asked for, else doubled until half of the tolerance is left."""
    if request.width is not None:
        return for_values(values, request.width, domain, lipschitz)
    enough = DEFAULT_ERROR if request.tol is None else request.tol / 2
    fit = for_values(values, 32, domain, lipschitz)
    width = 64
    while fit.error > enough and width <= WIDEST:
        wider = for_values(values, width, domain, lipschitz)
        fit, width = (wider if wider.error < fit.error else fit), 2 * width
    return fit


def product_fit(readout: Product, domain: Domain, request: Request) -> NetworkFit:
    """m_1 … m_p = 1/(2^{p-1} p!) sum over signs e, e_1 = 1, of e_1 … e_p (e.m)^p (polarisation),
    each power interpolated.

    On [-pR, pR] with knots h apart u^p is met within h^2/8 p(p-1)(pR)^{p-2}; the 2^{p-1} terms
    together, divided by 2^{p-1} p!, meet the product within that divided by p!.
    """
    p = taking_part(domain.slots, readout.current)
    if p == 1:
        w = on_slots(np.ones(1), domain.slots, domain.d)
        return NetworkFit(
            (ReluNetwork(np.array([1.0, -1.0]), np.stack([w, -w]), np.zeros(2)),),
            0.0,
            "exact, 2 neurons",
        )
    directions, end = 2 ** (p - 1), p * domain.radius
    curvature = p * (p - 1) * end ** (p - 2) / (8 * math.factorial(p))  # error = curvature h^2
    if request.width is not None:
        pieces = max(request.width // directions - 1, 1)
    else:
        enough = DEFAULT_ERROR if request.tol is None else request.tol / 2
        pieces = math.ceil(2 * end / math.sqrt(enough / curvature))
    pieces += pieces % 2 if request.width is None else 0
    knots = np.linspace(-end, end, pieces + 1)
    scale = 1 / (directions * math.factorial(p))
    nets = []
    for tail in itertools.product((1.0, -1.0), repeat=p - 1):
        e = np.array([1.0, *tail])
        nets.append(zigzag(on_slots(e, domain.slots, domain.d), knots, e.prod() * scale * knots**p))
    joined = ReluNetwork(
        *(np.concatenate([getattr(net, part) for net in nets]) for part in ("a", "b", "c"))
    )
    error = curvature * (2 * end / pieces) ** 2
    return NetworkFit(
        (joined,),
        error,
        f"polarisation, {joined.neurons} neurons",
        notes=(f"product by {directions} directions of {pieces} pieces: error {error:.3g} proved",),
    )


def lag_network(
    g: AbstractLagFunction,
    arguments: int,
    alphabet: Alphabet,
    width: int | None = None,
    log: bool = False,
) -> NetworkFit | None:
    """g (or log g) as neurons on its flattened arguments; None where there are too many
    combinations or log 0 occurs.

    On letters the error is certified: it is the largest over all combinations. A caller that rounds
    needs it below 1/2
    (lin) or log(1 + 1/(2T)) (log; docs/errata.md#e10).
    """
    points = combinations(alphabet, arguments)
    if points is None:
        return None
    lags = np.array([float(g.reference(tokens)) for tokens in points])
    if log and lags.min() < 1:
        return None
    values = np.log(lags) if log else lags
    own = g.network(arguments, alphabet, log)
    exact = [net for net in [own, *table_networks(alphabet, arguments, values)] if net is not None]
    flat = points.reshape(len(points), -1)
    domain = Domain(arguments, points.shape[2], float(np.linalg.norm(points, axis=2).max()), flat)
    return narrowed(exact, width, domain)

"""Options that belong together, as one parameter of a command; similar to `Depends` in FastAPI.

    def _output(output_format: Format = ..., output: OutputFile = None, ...) -> OutputOptions: ...

    Output = Annotated[OutputOptions, Bundle(_output)]

    def decode(*, source: Source, output: Output, quiet: Quiet = False) -> None: ...

On the command line a bundle is its options; the command gets what is made of them.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import wraps
from inspect import Parameter, Signature, signature
from typing import Any, get_args

from kgroup.cli.shell.lazy_methods import compile_now


@dataclass(frozen=True, slots=True)
class Bundle:
    """Marks a parameter as what `make`, a function or class, returns; its parameters are options."""

    make: Callable[..., Any]


def unbundled(command: Callable[..., Any]) -> Callable[..., Any]:
    """The command as typer takes it: in the place of each bundle its options, or bundles in turn."""
    compile_now(command)
    options: list[Parameter] = []
    bundles: dict[str, tuple[Callable[..., Any], list[str]]] = {}
    for parameter in signature(command).parameters.values():
        bundle = next((extra for extra in get_args(parameter.annotation) if isinstance(extra, Bundle)), None)
        if bundle is None:
            options.append(parameter.replace(kind=Parameter.KEYWORD_ONLY))
        else:
            make = unbundled(bundle.make)
            own = signature(make).parameters
            bundles[parameter.name] = (make, list(own))
            options += own.values()

    @wraps(command)
    def with_bundles(**given: Any) -> Any:
        made = {
            name: make(**{option: given.pop(option) for option in own})
            for name, (make, own) in bundles.items()
        }
        return command(**given, **made)

    # A name that two bundles have is refused here.
    vars(with_bundles)["__signature__"] = Signature(options)
    with_bundles.__annotations__ = {option.name: option.annotation for option in options}
    return with_bundles

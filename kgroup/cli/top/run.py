"""The loop of `kgroup top`: keys and refreshes go to the model, and its lines to the screen."""

from collections.abc import Callable
from functools import partial

from kgroup.cli.top.feed import Feed
from kgroup.cli.top.terminal import Terminal
from kgroup.cli.top.worker import Worker
from kgroup.report.top.model import Lost, PageKind, PageRequest, Pressed, Refreshed, Resized, TopModel
from kgroup.report.top.screen import render

_Page = tuple[PageRequest, int, int]
"""A page, as wide as the screen, as of when (epoch ms)."""


def run(feed: Feed, terminal: Terminal, model: TopModel, clock: Callable[[], float]) -> None:
    """Show groups until the user quits. Raises KgroupError if the first refresh fails.

    `clock` is in seconds and never goes back.
    """
    worker = Worker()
    due_s, refreshing = clock(), False
    served: _Page | None = None
    while not model.quit:
        if terminal.size != (model.width, model.height):
            model = model.after(Resized(*terminal.size))
        if not refreshing and not model.paused and clock() >= due_s:
            worker.submit(feed.refresh)
            refreshing = True
        page = model.page
        if page is None:
            served = None
        elif (wanted := _page(model, page)) != served:
            served = wanted
            # What is known anyway waits for no refresh that is under way.
            if page.kind is PageKind.EXPLAIN and model.page_lines is None:
                model = model.after(feed.outline(page, model.width))
            if page.kind is PageKind.COMMITS:
                model = model.after(feed.page(page, model.width))
            else:
                worker.submit(partial(feed.page, page, model.width))
        terminal.show(render(model))
        waits = refreshing or model.paused
        keys, has_events = terminal.wait(worker, None if waits else max(due_s - clock(), 0))
        for key in keys:
            model = model.after(Pressed(key))
        for event in worker.events() if has_events else ():
            model = model.after(event)
            if isinstance(event, Refreshed | Lost):
                refreshing, due_s = False, clock() + model.every_s


def _page(model: TopModel, page: PageRequest) -> _Page:
    """The key of a page; a replay reads the log, so it also depends on the time at which it was asked for."""
    return page, model.width, 0 if page.kind is PageKind.REPLAY else model.as_of_ms

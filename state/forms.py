"""The forms that a claim has heard, and the clusters that they make, kept up to date as they come.

What means the same is `state.clusters`; here is the bookkeeping: which forms there are, how they are
spelled, which need a vector, and whether a new one only joins or moves others. Numbers, identifiers and
booleans are clusters of their own and are not kept.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

import msgspec

from state.clusters import FORMS_MAX, Form, Partition, extended, partition, wanting
from state.decided import Verdict
from state.fold_state import ASIDE
from state.objects import Kind, type_object
from state.shelf import Shelf
from state.similarity import ModelId, model_of
from state.statements import Spelling, Statement

KEPT_MAX: Final = 2 * FORMS_MAX  # forms of one kind; those with the smallest keys


class Forms(msgspec.Struct, array_like=True, gc=False):
    """For each form how often each spelling was said, and the clusters that are no form's own.

    `cluster_of` maps only forms that joined another; `aside` are coarse dates that fit several others.
    `model` is the identity of the model that texts were compared by, "" where there was nothing to compare.
    `has_overflowed` says that a form was left out, for want of room.
    """

    said: dict[str, dict[str, int]] = {}
    cluster_of: dict[str, str] = {}
    aside: list[str] = []
    degraded: list[str] = []
    model: str = ""
    has_overflowed: bool = False

    def cluster(self, form: str) -> str:
        """The cluster of a form: its own unless it joined another."""
        if form in self.aside:
            return ASIDE
        return self.cluster_of.get(form, form)


_NOTHING_SAID: Final = Forms()


def is_kept(form: str) -> bool:
    """Whether a form can share a cluster with another: texts, dates, and numbers that may be years."""
    return form.startswith(("t:", "d:")) or (form.startswith("n:") and form[2:].isdigit() and len(form) == 6)


class Clustering:
    """The forms of one claim in use. `model` is None where there are no vectors."""

    def __init__(self, forms: Forms, prefix: bytes, model: ModelId | None) -> None:
        self.forms = forms
        self._prefix = prefix
        self._model = model
        self._today = "" if model is None else model.identity
        self._known: dict[str, Form] | None = None
        self._evicted: set[str] = set()

    def wanted(self, statements: Iterable[Statement], shelf: Shelf) -> dict[str, str]:
        """Texts that need a vector before these statements are entered: form key to text.

        Nothing is wanted before a claim has a second text: most claims never ask a model anything. A claim
        that was compared by another model wants all of its texts, whatever arrives.
        """
        if self._model is None:
            return {}
        new = {s.form: s.spelling for s in statements if _enters(s) and s.form not in self.forms.said}
        new = {form: spelling for form, spelling in new.items() if form.startswith("t:")}
        if not self.forms.said and len(new) < 2:
            return {}  # the first of a claim, as most are: nothing is read for it
        return self._missing(new, shelf) if new or self.is_outdated() else {}

    def wanted_again(self, shelf: Shelf) -> dict[str, str]:
        """Texts that have no vector of the model of today, as in `wanted`, although nothing arrives."""
        return {} if self._model is None else self._missing({}, shelf)

    def _missing(self, new: Mapping[str, Spelling | None], shelf: Shelf) -> dict[str, str]:
        forms = {**self.compared(shelf), **{f: Form(type_object(_plain(s)), None) for f, s in new.items()}}
        missing = [key for key in wanting(forms) if shelf.get(self._vector_key(key)) is None]
        return {key: forms[key].typed.text for key in missing}

    def enter(
        self,
        added: Iterable[Statement],
        removed: Iterable[Statement],
        vectors: Mapping[str, bytes],
        shelf: Shelf,
    ) -> bool:
        """Take statements' forms in and out; returns whether a form that was there changed its cluster.

        `vectors` are what `wanted` asked for, as far as they could be had.
        """
        added, removed = list(added), list(removed)
        if self.forms == _NOTHING_SAID and len(added) == 1 and not removed and not vectors:
            self._known = None
            self._say(added[0])
            return False  # alone it is compared with nothing
        outdated = self.is_outdated()
        if not removed and not vectors and not outdated and self._only_repeats(added):
            return False
        before = set(self.forms.said)
        touched = {s.form for s in (*added, *removed) if s.form in self.forms.said}
        # Guards read the capitals of a form's smallest spelling, so another one is another comparison.
        spelled = {form: min(self.forms.said[form]) for form in touched}
        for statement in removed:
            self._unsay(statement)
        for statement in added:
            self._say(statement)
        respelled = any(
            form in self.forms.said and min(self.forms.said[form]) != was for form, was in spelled.items()
        )
        for key, vector in vectors.items():
            shelf.put(self._vector_key(key), vector)
        gone, new = before - set(self.forms.said), set(self.forms.said) - before
        if not gone and not new and not vectors and not respelled and not outdated:
            return False
        only_grows = not (gone or respelled or outdated or self._evicted) and vectors.keys() <= new
        if only_grows and self._known is not None:
            self._known |= self._as_compared(self._model, shelf, new)
        else:
            self._known = None
        if len(self.forms.said) < 2 and not self.forms.cluster_of and not self.forms.aside:
            self.forms.degraded, self.forms.model = [], ""  # a single form is compared with nothing
            return False
        return self._partition(shelf, kept=before - gone, added=sorted(new) if only_grows else None)

    def _only_repeats(self, added: Iterable[Statement]) -> bool:
        """Count statements that say known forms in known spellings: the usual batch, and nothing moves.

        Neither the forms nor the smallest spelling of one change by it. Says False, and counts nothing,
        where one of them may.
        """
        said = self.forms.said
        found: list[tuple[dict[str, int], str]] = []
        for statement in added:
            if not statement.votes and not _enters(statement):
                continue
            spellings = said.get(statement.form)
            if spellings is None:
                if is_kept(statement.form):
                    return False
                continue
            spelling = statement.spelling
            if not isinstance(spelling, str):
                spelling = _plain(spelling)
            if spelling not in spellings:
                return False
            found.append((spellings, spelling))
        for spellings, spelling in found:
            spellings[spelling] += 1
        return True

    def recollect(self, statements: Iterable[Statement], vectors: Mapping[str, bytes], shelf: Shelf) -> None:
        """Look at all evidence again: where forms were left out, one taken back makes room for another."""
        self.forms.said, self.forms.has_overflowed = {}, False
        for statement in statements:
            self._say(statement)
        for key, vector in vectors.items():
            shelf.put(self._vector_key(key), vector)
        self._known = None
        self._partition(shelf, kept=set())

    def _partition(self, shelf: Shelf, *, kept: set[str], added: Sequence[str] | None = None) -> bool:
        """Partition the forms; `added` are the new ones where all others are as they were compared last."""
        model, forms = self._comparable(shelf)
        threshold = 1.0 if model is None else model.threshold
        if added is not None and 2 * len(added) <= len(forms):
            found = self._extended(forms, added, threshold)
        else:
            found = partition(forms, threshold=threshold)
        old, old_aside = dict(self.forms.cluster_of), set(self.forms.aside)
        self.forms.cluster_of = {f: c for f, c in found.cluster_of.items() if f != c}
        self.forms.aside = sorted(found.aside)
        self.forms.degraded = sorted(found.degraded)
        self.forms.model = model.identity if model is not None and self._has_texts() else ""
        left_out = {
            form for form in self._evicted if form in old or form in old_aside or form in old.values()
        }
        self._evicted.clear()
        return bool(left_out) or any(
            old.get(form, form) != found.cluster_of[form] or (form in old_aside) != (form in found.aside)
            for form in kept
        )

    def _extended(self, forms: Mapping[str, Form], added: Sequence[str], threshold: float) -> Partition:
        """What `partition` gives, one new form after the other: comparing all with all takes their square."""
        present = {key: form for key, form in forms.items() if key not in added}
        found = Partition(
            {key: self.forms.cluster_of.get(key, key) for key in present},
            frozenset(self.forms.aside),
            frozenset(self.forms.degraded),
        )
        for key in added:
            present[key] = forms[key]
            found = extended(found, present, key, threshold=threshold)
        return found

    def is_outdated(self) -> bool:
        """Whether the clusters were made by another model than that of today, or by none."""
        return self.forms.model != self._today and (self.forms.model != "" or self._has_texts())

    def _has_texts(self) -> bool:
        """Whether there are two texts or more: fewer are compared with nothing."""
        return sum(form.startswith("t:") for form in self.forms.said) > 1

    def _comparable(self, shelf: Shelf) -> tuple[ModelId | None, dict[str, Form]]:
        """The forms, and the model by which they can be compared.

        That of today, unless it could not be asked: then what another model said before still holds, and
        only what is new is degraded. A claim does not fall apart because a model changed and is not there.
        """
        forms = self.compared(shelf)
        before = model_of(self.forms.model)
        if self._model is None or before is None or before.space == self._model.space:
            return self._model, forms
        if not wanting(forms):
            for key in self.forms.said:
                shelf.delete(self._vector_key(key, before))
            return self._model, forms
        return before, self._as_compared(before, shelf, self.forms.said)

    def _say(self, statement: Statement) -> None:
        if not _enters(statement) or not is_kept(statement.form):
            return
        said = self.forms.said.get(statement.form)
        if said is None:
            if not self._has_room(statement.form):
                return
            said = self.forms.said[statement.form] = {}
        spelling = _plain(statement.spelling)
        said[spelling] = said.get(spelling, 0) + 1

    def _has_room(self, form: str) -> bool:
        """Whether a new form is kept; the one of its kind with the largest key makes room."""
        if len(self.forms.said) < KEPT_MAX:
            return True
        kin = [key for key in self.forms.said if key[0] == form[0]]
        if len(kin) < KEPT_MAX:
            return True
        largest = max(kin)
        self.forms.has_overflowed = True
        if form > largest:
            return False
        del self.forms.said[largest]
        self._evicted.add(largest)
        return True

    def _unsay(self, statement: Statement) -> None:
        said = self.forms.said.get(statement.form)
        spelling = _plain(statement.spelling)
        if said is None or not _enters(statement) or spelling not in said:
            return
        said[spelling] -= 1
        if said[spelling] == 0:
            del said[spelling]
        if not said:
            del self.forms.said[statement.form]

    def compared(self, shelf: Shelf) -> dict[str, Form]:
        """All forms as they are compared, each with its smallest spelling and its stored vector."""
        if self._known is None:
            self._known = self._as_compared(self._model, shelf, self.forms.said)
        return self._known

    def _as_compared(self, model: ModelId | None, shelf: Shelf, keys: Iterable[str]) -> dict[str, Form]:
        found = {}
        for key in keys:
            typed = type_object(min(self.forms.said[key]))
            needs = typed.kind is Kind.TEXT and model is not None
            found[key] = Form(typed, shelf.get(self._vector_key(key, model)) if needs else None)
        return found

    def _vector_key(self, form: str, model: ModelId | None = None) -> bytes:
        """Where the vector of a form lies, by the model of today unless another is given."""
        model = model or self._model
        assert model is not None
        return self._prefix + b"/v" + model.space.encode("utf-8") + b"/" + form.encode("utf-8")


def _plain(spelling: Spelling | None) -> str:
    """A spelling as text; typing it again gives the same form."""
    if isinstance(spelling, str):
        return spelling
    if isinstance(spelling, bool):
        return "true" if spelling else "false"
    return str(spelling)


def _enters(statement: Statement) -> bool:
    """Whether the object of a statement is one of the claim's: said with a vote, or opened by a decision."""
    return statement.votes or statement.verdict == Verdict.OPENED

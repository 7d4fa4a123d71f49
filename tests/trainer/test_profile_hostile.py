"""A profile that is not one is bad input: file, line and what is wrong, and never a traceback or a
wait without end."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from trainer.__main__ import main
from trainer.errors import BadInput
from trainer.profile import from_plain, read_profile
from trainer.validate import check

BOMB = "a0: &a0 [x]\n" + "".join(
    f"a{level + 1}: &a{level + 1} [{', '.join([f'*a{level}'] * 9)}]\n" for level in range(12)
)


def read(folder: Path, text: str | bytes, *overrides: str) -> None:
    file = folder / "profile.yaml"
    file.write_bytes(text if isinstance(text, bytes) else text.encode(errors="surrogatepass"))
    profile = read_profile(str(file), overrides)
    check(profile, 1)


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        (
            "train:\n  steps: 5\x07\n",
            "profile.yaml:2: not valid YAML: unacceptable character #x0007",
        ),
        (
            'train:\n  data:\n    path: "a\\0b"\n',
            "profile.yaml:3: a text holds a control character",
        ),
        (
            'train:\n  data:\n    path: "a\\e[2Jb"\n',
            "profile.yaml:3: a text holds a control character",
        ),
        (
            "inherit: true\n",
            "profile.yaml:1: inherit is the name of a profile, or a list of names, not True",
        ),
        ("inherit: 5\n", "inherit is the name of a profile"),
        ("inherit: {a: b}\n", "inherit is the name of a profile"),
        ("inherit: [[gpt2-micro]]\n", "inherit is the name of a profile"),
        ("inherit: [gpt2-micro, 5]\n", "inherit is the name of a profile"),
        ("inherit: null\n", "inherit is the name of a profile"),
        ("inherit: nothing-like-it\n", 'profile.yaml:1: no profile "nothing-like-it"'),
        (f"inherit: {'a' * 300}\n", "no profile"),
        ("inherit: profile.yaml\n", "inherits from itself"),
        ("inherit: ./profile\n", "inherits from itself"),
        ("[" * 200_000, "nested more than 20 deep"),
        ("train: " + "{a: " * 200 + "}" * 200, "nested more than 20 deep"),
        (BOMB, "more than 20000 values"),
        ("train: &a\n  model: *a\n", "stands inside of what it names"),
        ("train: *nothing\n", "names nothing"),
        ("train: {steps: " + "9" * 5000 + "}", "digits"),
        ("train: {steps: 0x" + "f" * 5000 + "}", "too large a number"),
        ("train: {steps: !!float x}", "profile.yaml:1: not valid YAML: could not convert"),
        ("train: {steps: !!int x}", "profile.yaml:1: not valid YAML"),
        ("train: {steps: !!python/object:os.system x}", "not valid YAML"),
        ("train: !!set {a}", "is no kind of value"),
        ("? [a, b]\n: c\n", "the name of a setting is a word"),
        ("<<: {train: {steps: 5}}\n", "constructor for the tag"),
        ("train: 5", "train is a group of settings, not 5"),
        ("train: [1]", "train is a group of settings"),
        ("train: {model: null}", "train.model is a group of settings"),
        ("train: {optimizer: {lr: .nan}}", "lr is a number, not nan"),
        ("train: {optimizer: {lr: .inf}}", "lr is a number, not inf"),
        ("train: {optimizer: {lr: " + "9" * 400 + "}}", "too large a number"),
        ("train: {optimizer: {betas: {a: b}}}", "betas is a list"),
        ("train: {checkpoint: {schedule: [5]}}", "schedule is a list"),
        ("train: {checkpoint: {schedule: [[1, 2, 3]]}}", "takes 2 values, not 3"),
        ("train: {strategy: {zero_stage: true}}", "zero_stage is one of 1, 2, 3, not True"),
        ("launch: {resources: [1]}", "resources is a mapping"),
        ("launch: {nodes: 0}", "launch.nodes 0: must be 1 or more"),
        ("train: {model: {heads: 0}}", "train.model.heads 0: must be 1 or more"),
        ("train: {model: {kv_heads: -1}}", "kv_heads -1: must be 0 or more"),
        ("train: {device_batch_size: 0}", "train.device_batch_size 0: must be 1 or more"),
        ("- 5", "a profile is a mapping of settings"),
        ("hello", "a profile is a mapping of settings"),
        ("--- {}\n--- {}\n", "not valid YAML"),
        (b"\xff\xfe", "cannot be read"),
        (b"\x00" * 100, "not valid YAML"),
        ("#" * 1_000_001, "is larger than 1000 kB"),
    ],
)
def test_what_is_wrong_is_one_line_that_names_the_file(
    text: str | bytes, complaint: str, tmp_path: Path
) -> None:
    with pytest.raises(BadInput) as caught:
        read(tmp_path, text)
    message = str(caught.value)
    assert complaint in message and "\n" not in message and len(message) < 500, message


def test_profiles_that_inherit_from_one_another_in_a_circle_through_folders_are_refused(
    tmp_path: Path,
) -> None:
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "b.yaml").write_text("inherit: ../a\n")
    (tmp_path / "a.yaml").write_text("inherit: other/b\n")
    with pytest.raises(BadInput, match="inherits from itself"):
        read_profile(str(tmp_path / "a.yaml"))


def test_a_family_of_profiles_that_grows_with_every_generation_is_refused(tmp_path: Path) -> None:
    for level in range(12):
        (tmp_path / f"p{level}.yaml").write_text(
            f"inherit: [p{level + 1}, p{level + 1}, p{level + 1}]\n"
        )
    (tmp_path / "p12.yaml").write_text("train: {steps: 5}\n")
    with pytest.raises(BadInput, match="more than 50 profiles are inherited from"):
        read_profile(str(tmp_path / "p0.yaml"))


def test_an_alias_that_is_used_a_few_times_is_fine(tmp_path: Path) -> None:
    read(
        tmp_path, "train:\n  seed: &number 8\n  batch_size: *number\n  device_batch_size: *number\n"
    )


def test_a_folder_or_a_pipe_is_no_profile(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="no profile"):
        read_profile(str(tmp_path))


@pytest.mark.parametrize(
    "override",
    [
        "train.steps=" + "[" * 100_000,
        "train.steps=\x07",
        "train.steps=" + "9" * 5000,
        "train=5",
        "train.steps.more=5",
        ".=1",
        ".".join("a" * 100_000) + "=1",
        "train.optimizer.betas=&a [*a]",
        "=5",
        "train.steps=!!int x",
        "nothing",
    ],
)
def test_an_override_that_cannot_be_used_is_one_line(override: str) -> None:
    with pytest.raises(BadInput) as caught:
        read_profile("gpt2-micro", [override])
    assert "\n" not in str(caught.value) and len(str(caught.value)) < 1000


def test_the_profile_of_a_checkpoint_that_is_no_mapping_is_refused() -> None:
    for wrong in (None, 5, [], "hello"):
        with pytest.raises(BadInput, match="the checkpoint's profile"):
            from_plain(json.loads(json.dumps(wrong)))


def test_the_trainer_ends_with_5_and_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "p.yaml").write_text("inherit: true\n")
    assert main(["--profile", str(tmp_path / "p.yaml"), "--output", str(tmp_path / "out")]) == 5
    assert len(capsys.readouterr().err.strip().splitlines()) == 1

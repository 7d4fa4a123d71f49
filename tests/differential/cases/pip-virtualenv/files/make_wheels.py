"""Make two wheels of a package that does nothing: `make_wheels.py FOLDER`."""
import pathlib
import sys
import zipfile

folder = pathlib.Path(sys.argv[1])
folder.mkdir(exist_ok=True)
for name, version in (("noop_one", "1.0"), ("noop_one", "2.0"), ("noop_two", "0.3")):
    about = f"{name}-{version}.dist-info"
    files = {
        f"{name}.py": f"version = {version!r}\n",
        f"{about}/METADATA": f"Metadata-Version: 2.1\nName: {name.replace('_', '-')}\nVersion: {version}\n",
        f"{about}/WHEEL": "Wheel-Version: 1.0\nGenerator: a test\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    record = "".join(f"{path},,\n" for path in [*files, f"{about}/RECORD"])
    with zipfile.ZipFile(folder / f"{name}-{version}-py3-none-any.whl", "w") as wheel:
        for path, text in {**files, f"{about}/RECORD": record}.items():
            wheel.writestr(zipfile.ZipInfo(path, (2024, 1, 1, 0, 0, 0)), text)

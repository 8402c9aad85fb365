"""tandem's run folders and packed data sets as pandas and numpy objects.

    run = tandem.Run("runs/first")            # any run folder, also of a run that still trains
    run.metrics()                             # pandas.DataFrame: the lines of metrics.jsonl
    run.ranks()                               # the same of every rank, with a column `rank`
    run.confusion()                           # numpy.ndarray: true class x predicted class
    for run in tandem.runs("runs"): print(run.name, run.summary["test_accuracy"])

    data = tandem.Dataset("cifar10.h5")       # a file of `tandem pack`
    data.images("train")[:8]                  # numpy.ndarray, uint8 [N, C, H, W]
    data.picture("train", 0)                  # bytes of a JPEG or PNG file, of a set that `--store encoded` made

`import tandem` imports the standard library only. Tables need pandas, arrays numpy, data sets h5py, and `tandem.models`
(networks in PyTorch) torch and safetensors: pip install 'tandem-train[python]'. A missing file is a FileNotFoundError, a file
of another kind a ValueError; both name the path. docs/formats.md of the project describes the fields.
"""

import json
import pathlib

__all__ = ["Dataset", "Run", "runs"]


def _read_object(path):
    """The JSON object in a file; None if there is no such file."""
    try:
        value = json.loads(path.read_bytes())
    except FileNotFoundError:
        return None
    except ValueError as error:
        raise ValueError(f"{path}: is not JSON: {error}") from None
    if not isinstance(value, dict):
        raise ValueError(f"{path}: holds a {type(value).__name__}, a JSON object was expected")
    return value


def _read_lines(path):
    """A DataFrame of the complete lines of a .jsonl file; the last one may still be written."""
    import pandas

    whole = path.read_bytes().rpartition(b"\n")[0]
    return pandas.DataFrame([json.loads(line) for line in whole.splitlines()])


class Run:
    """A run folder. Each property and method reads its file anew, so the values of a running training are current."""

    def __init__(self, folder):
        self.folder = pathlib.Path(folder)
        if not (self.folder / "manifest.json").exists():
            raise FileNotFoundError(f"{self.folder}: holds no manifest.json; give the folder of a run, such as runs/first")

    def __repr__(self):
        return f"tandem.Run({str(self.folder)!r})"

    @property
    def name(self):
        return self.folder.resolve().name

    @property
    def manifest(self):
        """Versions, command line, data set and ranks."""
        return _read_object(self.folder / "manifest.json")

    @property
    def summary(self):
        """The result; None until the run has ended."""
        return _read_object(self.folder / "summary.json")

    @property
    def config(self):
        """Every option as text, without the leading dashes: {"batch-size": "64", …}."""
        import configparser

        parser = configparser.ConfigParser(interpolation=None, delimiters=("=",), comment_prefixes=("#",))
        parser.read_string("[options]\n" + (self.folder / "config.ini").read_text())
        return dict(parser["options"])

    def metrics(self, event=None):
        """The lines of metrics.jsonl; of one kind if `event` names it, such as "eval", without columns that it lacks."""
        lines = _read_lines(self.folder / "metrics.jsonl")
        if event is None:
            return lines
        return lines[lines["event"] == event].dropna(axis="columns", how="all").reset_index(drop=True)

    def ranks(self):
        """The lines of ranks/rank-*.jsonl, one rank after the other."""
        import pandas

        tables = [_read_lines(path).assign(rank=int(path.stem.removeprefix("rank-")))
                  for path in sorted(self.folder.glob("ranks/rank-*.jsonl"))]
        return pandas.concat(tables, ignore_index=True) if tables else pandas.DataFrame()

    @property
    def evaluation(self):
        """The last evaluation of the test images; None before the first."""
        return _read_object(self.folder / "evaluation.json")

    def confusion(self):
        """Numbers of test images: a row for each true class, a column for each predicted one."""
        import numpy

        evaluation = self.evaluation
        if evaluation is None:
            raise FileNotFoundError(f"{self.folder}/evaluation.json: is not there; the run has not evaluated its test images yet")
        return numpy.array(evaluation["confusion"], dtype=numpy.int64)


def runs(folder="runs"):
    """The runs of a folder, by name. Other folders in it are left out."""
    if not pathlib.Path(folder).is_dir():
        raise FileNotFoundError(f"{folder}: is no folder; give the one that holds run folders, --runs-dir of the training")
    return [Run(path.parent) for path in sorted(pathlib.Path(folder).glob("*/manifest.json"))]


class Dataset:
    """A packed data set. Pixels and files of pictures stay in the file until images() or picture() reads them."""

    def __init__(self, path):
        self.path = pathlib.Path(path)
        with self._open() as file:
            if file.attrs.get("format") != "tandem-dataset":
                raise ValueError(f"{path}: is HDF5 but no packed data set; make one with tandem pack")
            version = int(file.attrs["version"])
            if version not in (1, 2):
                raise ValueError(f"{path}: has version {version}, 1 or 2 was expected; install a newer tandem-train")
            self.name = str(file.attrs["name"])
            classes = file.attrs["classes"] if version == 1 else file["classes"].asstr()[:]
            self.classes = [str(each) for each in classes]
            self.mean, self.std = file.attrs["mean"][:], file.attrs["std"][:]  # per channel, of pixels divided by 255
            self.multi_label = "targets" in file["train"]
            self.encoded = "bytes" in file["train"]  # tandem pack --store encoded: JPEG and PNG files in place of pixels
            self.shapes = {split: self._shape(file, split) for split in ("train", "test")}

    def _shape(self, file, split):
        """N, C, H, W; of files those that a picture gets when tandem reads it."""
        if self.encoded:
            return (len(file[f"{split}/offsets"]) - 1, *(int(each) for each in file.attrs["shape"]))
        return file[f"{split}/images"].shape

    def __repr__(self):
        return f"tandem.Dataset({str(self.path)!r}): {self.name}, train {self.shapes['train']}, test {self.shapes['test']}"

    def _open(self):
        import h5py

        try:
            return h5py.File(self.path, "r")
        except FileNotFoundError:
            raise FileNotFoundError(f"{self.path}: is not there; make it with tandem pack") from None
        except OSError as error:
            raise ValueError(f"{self.path}: is no packed data set ({error}); make one with tandem pack") from None

    def images(self, split, part=slice(None)):
        """uint8 [N, C, H, W] of "train" or "test"; `part` is a slice of the images. A ValueError if the set holds files."""
        if self.encoded:
            raise ValueError(f"{self.path}: holds files of pictures, no pixels; read one by picture(split, index)")
        with self._open() as file:
            return file[f"{split}/images"][part]

    def picture(self, split, index):
        """The bytes of one JPEG or PNG file; PIL.Image.open(io.BytesIO(bytes)) decodes them. A ValueError if the set holds pixels."""
        if not self.encoded:
            raise ValueError(f"{self.path}: holds pixels, no files of pictures; read them by images(split)")
        count = self.shapes[split][0]
        if not -count <= index < count:
            raise IndexError(f"{self.path}: has {count} pictures in {split}, number {index} is not one of them")
        with self._open() as file:
            begin, end = file[f"{split}/offsets"][index % count:index % count + 2]
            return file[f"{split}/bytes"][int(begin):int(end)].tobytes()

    def labels(self, split, part=slice(None)):
        """Indices into `classes`: uint8 [N], in files of version 2 uint16 [N]. ValueError for a multi-label set."""
        if self.multi_label:
            raise ValueError(f"{self.path}: is a multi-label set and has no labels; read its targets with targets(split)")
        with self._open() as file:
            return file[f"{split}/labels"][part]

    def targets(self, split, part=slice(None)):
        """uint8 [N, classes]: 1 if the image has the class, else 0. ValueError unless it is a multi-label set."""
        if not self.multi_label:
            raise ValueError(f"{self.path}: is not a multi-label set and has no targets; read its labels with labels(split)")
        with self._open() as file:
            return file[f"{split}/targets"][part]

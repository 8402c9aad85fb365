"""safetensors files (docs/formats.md), read and changed without tandem."""

import hashlib
import json

UNSEALED = "0" * 64


def split_content(content):
    """The header, and the bytes of all tensors; ValueError if the header is not JSON."""
    begin = 8 + int.from_bytes(content[:8], "little")
    return json.loads(content[8:begin]), content[begin:]


def metadata_of(path):
    return split_content(path.read_bytes())[0]["__metadata__"]


def is_sealed(content, metadata):
    """Whether `sha256` is that of the content; KeyError without this entry."""
    stated = metadata["sha256"]
    return hashlib.sha256(content.replace(stated.encode(), UNSEALED.encode(), 1)).hexdigest() == stated


def read_tensors(path):
    """Shape and bytes of each tensor by name."""
    header, data = split_content(path.read_bytes())
    return {name: (entry["shape"], data[slice(*entry["data_offsets"])])
            for name, entry in header.items() if name != "__metadata__"}


def bytes_of_tensors(path):
    """The bytes of each tensor by name."""
    return {name: content for name, (_, content) in read_tensors(path).items()}


def tensor_bytes_sha256(path):
    """Of the file without its header, which holds times."""
    return hashlib.sha256(split_content(path.read_bytes())[1]).hexdigest()


def write_safetensors(path, header, data):
    text = json.dumps(header, separators=(",", ":"), ensure_ascii=False).encode()
    text += b" " * (-len(text) % 8)
    path.write_bytes(len(text).to_bytes(8, "little") + text + data)


def write_tensors(path, tensors):
    """Of fp32, without metadata, as other programs write them."""
    header, data = {}, b""
    for name, (shape, content) in tensors.items():
        header[name] = {"dtype": "F32", "shape": shape, "data_offsets": [len(data), len(data) + len(content)]}
        data += content
    text = json.dumps(header).encode()
    path.write_bytes(len(text).to_bytes(8, "little") + text + data)


def replace_metadata(path, metadata, output=None):
    """Writes to `output`, by default to the file itself. Computes `sha256` again if the metadata has it."""
    header, data = split_content(path.read_bytes())
    has_digest = "sha256" in metadata
    header["__metadata__"] = {**metadata, "sha256": UNSEALED} if has_digest else metadata
    output = output or path
    write_safetensors(output, header, data)
    if has_digest:
        content = output.read_bytes()
        output.write_bytes(content.replace(UNSEALED.encode(), hashlib.sha256(content).hexdigest().encode(), 1))

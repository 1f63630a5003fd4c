#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "forebay/result.h"

namespace forebay {

/// Which dot of the last path component ends the name of a sample.
enum class NameSplit : uint8_t { kFirstDot, kLastDot };

/// The parts of a file name in a shard. "train/0001.seg.png" is the field "seg.png" of the sample
/// "train/0001"; split at the last dot, it is "png" of "train/0001.seg".
struct TarSampleName {
  std::string_view base;  ///< the part before the dot
  std::string extension;  ///< the part after the dot, in lower case
};

/// Splits a file name. Returns nullopt for files that belong to no sample: without an extension,
/// hidden (".x"), and notes about the shard ("__x__"). Corrupt for paths that leave their folder.
Result<std::optional<TarSampleName>> split_sample_name(std::string_view name, NameSplit split = NameSplit::kFirstDot);

/// True for a note about the shard: a file "__x__", or a file in a folder of such a name.
bool is_shard_note(std::string_view name);

/// How the bytes of a file are interpreted. The part of the extension after its last dot decides.
enum class ExtensionKind : uint8_t {
  kBytes,
  kText,     ///< txt, text, transcript, json, jsn
  kInteger,  ///< cls, cls2, class, count, index, inx, id
  kPickle,   ///< pyd, pickle, pkl, pth, pt, joblib: refused, because unpickling can run code
};
ExtensionKind kind_of_extension(std::string_view extension);

}  // namespace forebay

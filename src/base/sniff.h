#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "forebay/status.h"

namespace forebay {

/// Format of a file, judged by its first bytes.
enum class FileKind : uint8_t {
  kUnknown,  ///< no signature fits, and the file is not text
  kEmpty,
  kZeros,  ///< all inspected bytes are 0
  // A pointer or a message in place of the data.
  kLfsPointer,
  kAnnexPointer,
  kHtmlPage,
  kXmlError,
  // Compressed data and archives.
  kGzip,
  kZstd,
  kXz,
  kBzip2,
  kLz4,
  kSnappy,
  kCompress,
  kZlib,
  kLzip,
  kZip,
  kNpz,
  kOfficeDocument,
  kTorchFile,
  kTar,
  kSevenZip,
  kRar,
  // Tables, records and arrays.
  kParquet,
  kEncryptedParquet,
  kArrowFile,
  kArrowStream,
  kFeatherV1,
  kOrc,
  kAvro,
  kHdf5,
  kNetcdf,
  kMatlab,
  kNpy,
  kIdx,
  kTfrecord,
  kMxnetRecords,
  kArrayRecord,
  kMds,
  kLmdb,
  kSqlite,
  kPickle,
  kSafetensors,
  kGguf,
  kNifti,
  kDicom,
  kFits,
  kPointCloud,
  // Pictures.
  kJpeg,
  kPng,
  kWebp,
  kBmp,
  kGif,
  kTiff,
  kPnm,
  kAvif,
  kHeic,
  kJpegXl,
  kJpeg2000,
  kPsd,
  kIco,
  kQoi,
  kDds,
  kOpenExr,
  kRadiance,
  kSvg,
  // Sound and films.
  kWav,
  kRf64,
  kW64,
  kFlac,
  kOggVorbis,
  kOggOpus,
  kOggFlac,
  kOggSpeex,
  kOgg,
  kMp3,
  kAac,
  kSphere,
  kAiff,
  kAu,
  kCaf,
  kAmr,
  kMidi,
  kWavPack,
  kMonkeysAudio,
  kAsf,
  kMp4,
  kQuickTime,
  kMatroska,
  kAvi,
  kFlv,
  kMpegVideo,
  // Text and documents.
  kPdf,
  kXml,
  kJson,
  kUtf8Text,
  kUtf16Text,
  kUtf32Text,
};

enum class FileFamily : uint8_t {
  kUnknown,
  kNothing,      ///< empty, or zeros only
  kReplacement,  ///< a pointer or a message in place of the data
  kCompressed,   ///< one compressed stream
  kArchive,
  kTable,  ///< tables, records and arrays
  kPicture,
  kSound,
  kFilm,
  kText,
};

struct Sniffed {
  FileKind kind = FileKind::kUnknown;
  FileFamily family = FileFamily::kUnknown;
  /// Name with its article, for messages: "a Git LFS pointer", "gzip-compressed data".
  std::string_view name;
  /// Advice in the imperative: "fetch the data with `git lfs pull`". May be empty.
  std::string_view remedy;
};

/// Number of first bytes that suffices for every decision. Callers may pass more: they are used
/// only to look past a tag in front of an MP3 or FLAC stream. If there are fewer, the decision
/// rests on those.
constexpr size_t kSniffBytes = 1024;

/// Determines the format of a file. `head` holds its first bytes. `file_bytes` is its length, if
/// known: pointers are short, and lengths stated in a header must fit. Without it `head` may be a
/// part or the whole of the file. A signature is no proof: a damaged file still has the format of
/// its signature. Pure; allocates nothing; may be called from any thread. Its cost does not grow
/// with `head`.
Sniffed sniff(std::span<const uint8_t> head, std::optional<uint64_t> file_bytes = std::nullopt);

/// Length of the ID3v2 tag at the beginning of MP3 and some FLAC files, at most the length of
/// `bytes`; 0 if there is none.
size_t id3_bytes(std::span<const uint8_t> bytes);

/// Text for the middle of a message: "found a Git LFS pointer; fetch the data with `git lfs pull`".
/// For an unknown format it shows the first bytes.
std::string found_text(std::span<const uint8_t> head, std::optional<uint64_t> file_bytes = std::nullopt);

/// The error of a reader that cannot use a file: "expected a Parquet file, found gzip-compressed
/// data; unpack it first (`gunzip`)". NotFound for pointers, Unsupported for other known formats,
/// Corrupt for all else. `expected` includes its article. Call it once you know that the file is
/// not of the expected format.
Status wrong_file(std::string_view expected, std::span<const uint8_t> head,
                  std::optional<uint64_t> file_bytes = std::nullopt);

/// Fails if the file is a pointer of Git LFS or git-annex. Readers that accept all bytes (text,
/// objects) call it.
Status check_no_pointer(std::span<const uint8_t> head, std::optional<uint64_t> file_bytes = std::nullopt);

/// Fails if the file cannot be text: it is a pointer, or has a known format and does not begin with
/// text. UTF-16 counts as text; bytes of unknown format pass.
Status check_text(std::span<const uint8_t> head, std::optional<uint64_t> file_bytes = std::nullopt);

}  // namespace forebay

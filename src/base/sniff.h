#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "forebay/status.h"

namespace forebay {

/// What a file is, judged by its first bytes.
enum class FileKind : uint8_t {
  kUnknown,  ///< no signature fits, and it is no text
  kEmpty,
  kZeros,  ///< all bytes looked at are 0
  // Something that stands in place of the data.
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
  std::string_view name;    ///< with its article, for messages: "a Git LFS pointer", "gzip-compressed data"
  std::string_view remedy;  ///< what to do, in the imperative: "fetch the data with `git lfs pull`"; may be empty
};

/// As many first bytes as every decision needs. More may be given: only a tag in front of an MP3 or FLAC stream is looked
/// behind. Fewer are judged by what is there.
constexpr size_t kSniffBytes = 1024;

/// Says what a file is. `head`: its first bytes; `file_bytes`: its length, where it is known (a pointer is short, and a
/// stated length must fit). Without it `head` may be a part or the whole. No signature is a proof: a damaged file of a kind is
/// of that kind. Pure, without allocation, any thread; time and memory do not grow with `head`.
Sniffed sniff(std::span<const uint8_t> head, std::optional<uint64_t> file_bytes = std::nullopt);

/// Length of the ID3v2 tag with which MP3 and some FLAC files begin, at most that of `bytes`; 0 where there is none.
size_t id3_bytes(std::span<const uint8_t> bytes);

/// "found a Git LFS pointer; fetch the data with `git lfs pull`", for the middle of a message. Bytes of no known kind are shown.
std::string found_text(std::span<const uint8_t> head, std::optional<uint64_t> file_bytes = std::nullopt);

/// The error of a reader that cannot use a file: "expected a Parquet file, found gzip-compressed data; unpack it first
/// (`gunzip`)". NotFound for pointers, Unsupported for other known formats, Corrupt for all else. `expected` has an article. For
/// callers that have already decided that the file is not what they read.
Status wrong_file(std::string_view expected, std::span<const uint8_t> head,
                  std::optional<uint64_t> file_bytes = std::nullopt);

/// An error where the file is a pointer of Git LFS or git-annex, for readers to which all bytes are good data (text, objects).
Status check_no_pointer(std::span<const uint8_t> head, std::optional<uint64_t> file_bytes = std::nullopt);

/// An error where the file cannot be text: a pointer, or a known kind of file whose first bytes are none. UTF-16 is text, and bytes of
/// no known kind may be.
Status check_text(std::span<const uint8_t> head, std::optional<uint64_t> file_bytes = std::nullopt);

}  // namespace forebay

#include "format/files/left_out.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <string>

namespace forebay {

namespace {

constexpr size_t kMaxExtensionLength = 16;

// Sorted for std::ranges::binary_search.
constexpr std::array<std::string_view, 46> kBesideExtensions = {
    "asc", "bib",   "cfg",  "conf", "crc",  "css", "csv",  "db",     "done",   "html", "idx",   "index",
    "ini", "ipynb", "js",   "json", "lock", "log", "map",  "md",     "md5",    "mtl",  "names", "pbtxt",
    "pdf", "ps1",   "py",   "pyc",  "rst",  "sh",  "sha1", "sha256", "sha512", "sig",  "sum",   "tarindex",
    "tex", "tmp",   "toml", "tsv",  "txt",  "url", "xml",  "xsd",    "yaml",   "yml"};
// File names without an extension, in lower case.
constexpr std::array<std::string_view, 14> kBesideNames = {
    "authors", "changelog", "checksums", "citation", "contributors", "copying", "dockerfile",
    "license", "makefile",  "manifest",  "md5sums",  "notice",       "readme",  "sha256sums"};

std::string lower(std::string_view text) {
  std::string out(text);
  for (char& c : out) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return out;
}

}  // namespace

const OmissionReason kUnreadFiles{"unread_files", "file looks like data and is in a format that is not read here",
                                  "files look like data and are in formats that are not read here",
                                  "convert them, read them with a source of their own, or move them away"};
const OmissionReason kDeadLinks{"dead_links", "symbolic link leads nowhere, and what was behind it is left out",
                                "symbolic links lead nowhere, and what was behind them is left out",
                                "fetch their content (git annex get, dvc pull), mount the disk, or remove the links"};
const OmissionReason kCircularLinks{
    "circular_links", "symbolic link leads to a folder that it lies in and is not followed",
    "symbolic links lead to folders that they lie in and are not followed", "what they lead to is read once"};

std::string_view name_of_key(std::string_view key) {
  const size_t slash = key.rfind('/');
  return slash == std::string_view::npos ? key : key.substr(slash + 1);
}

std::string extension_of(std::string_view key) {
  const std::string_view name = name_of_key(key);
  const size_t dot = name.rfind('.');
  // The text after the dot may be too long to be an extension.
  if (dot == std::string_view::npos || name.size() - dot - 1 > kMaxExtensionLength) return {};
  return lower(name.substr(dot + 1));
}

bool looks_like_data(std::string_view name) {
  if (name.starts_with('.') || name.starts_with('_') || name.ends_with('~')) return false;
  const std::string whole = lower(name);
  // "LICENSE-2.0" is a document, "license.tif" is a picture.
  if (may_name_folder(name)) {
    return std::ranges::none_of(kBesideNames, [&](std::string_view beside) { return whole.starts_with(beside); });
  }
  return !std::ranges::binary_search(kBesideExtensions, std::string_view(extension_of(name)));
}

bool may_name_folder(std::string_view name) {
  const std::string extension = extension_of(name);
  // "v1.0" is not a file called "v1".
  return extension.empty() || std::isdigit(static_cast<unsigned char>(extension[0])) || extension.size() > 8;
}

}  // namespace forebay

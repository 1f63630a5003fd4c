#pragma once

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <string_view>

namespace forebay {

/// A temporary folder for one test, deleted with the object.
class ScratchFolder {
 public:
  ScratchFolder() {
    std::string pattern = (std::filesystem::temp_directory_path() / "forebay-test-XXXXXX").string();
    path_ = ::mkdtemp(pattern.data()) == nullptr ? std::filesystem::path() : std::filesystem::path(pattern);
  }
  ~ScratchFolder() {
    std::error_code ignored;
    if (!path_.empty()) std::filesystem::remove_all(path_, ignored);
  }
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;

  std::string path() const { return path_.string(); }
  std::string path(std::string_view below) const { return path_.string() + '/' + std::string(below); }
  void write(std::string_view below, std::string_view bytes) const {
    const std::filesystem::path file = path(below);
    std::filesystem::create_directories(file.parent_path());
    std::ofstream(file, std::ios::binary).write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  }

 private:
  std::filesystem::path path_;
};

}  // namespace forebay

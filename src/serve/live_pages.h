#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/file_descriptor.h"
#include "forebay/result.h"

namespace forebay {

/// A page that a process of this user serves over one of its loaders.
struct LivePage {
  std::string url;          ///< with the token, so only for this user
  std::string pipeline;     ///< first step of the pipeline
  std::string fingerprint;  ///< of the loader; the ranks of a job have one
  int process = 0, rank = 0, world_size = 1;
};

/// A live page's file in the runtime folder, by which `forebay ui` and other ranks find the page.
/// It is removed with this object. A process that is killed leaves the file, which live_pages()
/// then removes. Not thread-safe.
class PublishedPage {
 public:
  /// Unavailable if the file cannot be written.
  static Result<std::unique_ptr<PublishedPage>> publish(const LivePage& page);
  ~PublishedPage();
  PublishedPage(const PublishedPage&) = delete;
  PublishedPage& operator=(const PublishedPage&) = delete;

  /// For the child of a fork: the parent's file stays, and ends with the parent.
  void forget();

 private:
  PublishedPage(std::string path, FileDescriptor file);

  std::string path_;
  FileDescriptor file_;  // holds a lock as long as the process lives
};

/// Returns the live pages of this user on this host, by process and then by age. Empty if there are
/// none. Unavailable if the folder belongs to another user.
Result<std::vector<LivePage>> live_pages();

}  // namespace forebay

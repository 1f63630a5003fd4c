#include "study/working_folder.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <utility>

namespace forebay {
namespace {

// A process that makes a folder, reports its path, and is killed once the pipe is read.
struct Killed {
  Killed() {
    int ends[2];
    if (pipe(ends) != 0) return;
    child = fork();
    if (child == 0) {
      const Result<WorkingFolder> made = WorkingFolder::make();
      if (made.ok()) path = made->path();
      std::ofstream(path + "/file") << "left behind";
      (void)!write(ends[1], path.data(), path.size());
      close(ends[1]);
      for (;;) pause();
    }
    close(ends[1]);
    char part[256];
    for (ssize_t got; (got = read(ends[0], part, sizeof part)) > 0;) path.append(part, static_cast<size_t>(got));
    close(ends[0]);
  }
  ~Killed() { kill(); }
  Killed(const Killed&) = delete;
  Killed& operator=(const Killed&) = delete;
  void kill() {
    if (child <= 0) return;
    ::kill(child, SIGKILL);
    waitpid(std::exchange(child, -1), nullptr, 0);
  }
  pid_t child = -1;
  std::string path;
};

TEST(WorkingFolder, goes_with_its_owner) {
  std::string path;
  {
    const Result<WorkingFolder> made = WorkingFolder::make();
    ASSERT_TRUE(made.ok()) << made.status().to_string();
    path = made->path();
    EXPECT_TRUE(std::filesystem::is_directory(path));
  }
  EXPECT_FALSE(std::filesystem::exists(path));
}

TEST(WorkingFolder, of_a_process_that_was_killed_goes_with_the_next_and_those_in_use_stay) {
  const Result<WorkingFolder> own = WorkingFolder::make();
  Killed killed;
  ASSERT_TRUE(own.ok() && !killed.path.empty());
  EXPECT_TRUE(std::filesystem::exists(own->path()));
  ASSERT_TRUE(WorkingFolder::make().ok());
  EXPECT_TRUE(std::filesystem::exists(killed.path + "/file"));  // its process is still alive
  killed.kill();
  ASSERT_TRUE(WorkingFolder::make().ok());
  EXPECT_FALSE(std::filesystem::exists(killed.path));
  EXPECT_TRUE(std::filesystem::exists(own->path()));
}

}  // namespace
}  // namespace forebay

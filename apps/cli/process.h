// What the command needs of the process it runs in, whoever started it.
#pragma once

namespace submarine::apps {

// First of all, before any file is opened. Opens descriptors 0 to 2 where they are closed: the next
// file to be opened would become a standard stream, and messages would be written into it. Lets
// writing fail, with an error that can be reported, where by default a signal would end the program:
// beyond a limit of file sizes and into a pipe that nobody reads.
void PrepareProcess();

}  // namespace submarine::apps

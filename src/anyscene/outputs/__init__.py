"""What a job writes of each image: its record, and the files of its labels."""
